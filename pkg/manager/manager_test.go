package manager_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"job-cleanup/pkg/manager"
	"job-cleanup/pkg/manager/managertest"
)

const (
	one = "11111111111111111111111111111111"
	two = "2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a"
)

func dial(t *testing.T, address string) *manager.Conn {
	t.Helper()
	conn, err := manager.Dial(limited(t), manager.Address{Bus: address})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// limited is a context that ends before a test that hangs would.
func limited(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func running(name string) managertest.Unit {
	return managertest.Unit{Name: name, Active: "active", Sub: "running", Invocation: one}
}

func TestUnit(t *testing.T) {
	started := time.UnixMicro(1_700_000_000_123_456)
	u := running(`batch@a\x2db.service`)
	u.Started, u.Transient, u.Alias = started, true, "alias.service"
	u.Service = map[string]any{
		"MainPID": uint32(7), "UID": uint32(1000), "GID": uint32(math.MaxUint32), "DynamicUser": true,
		"TimeoutStartUSec": uint64(math.MaxUint64), "TimeoutStopUSec": uint64(90_000_000),
		"RuntimeDirectory": []string{"batch"}, "PrivateTmp": true, "ProtectHome": "yes", "Result": "success",
		"BindPaths": []struct {
			From, To string
			Ignore   bool
			Flags    uint64
		}{{"/srv/a", "/a", false, 0}},
		"TemporaryFileSystem": []struct{ Path, Options string }{{"/var", "ro"}},
		"User":                uint32(1), // not the type we know: as good as missing
	}
	fake := managertest.New(t, u)
	conn := dial(t, fake.Address)
	got, err := conn.Unit(limited(t), "alias.service")
	if err != nil {
		t.Fatal(err)
	}
	uid := uint32(1000)
	want := manager.Unit{
		Name: u.Name, LoadState: "loaded", ActiveState: "active", SubState: "running", Invocation: one,
		Transient: true, Started: started, MainPID: 7, UID: &uid, Dynamic: true, Result: "success",
		TimeoutStart: manager.Infinite, TimeoutStop: 90 * time.Second, RuntimeDirectory: []string{"batch"},
		Sandbox: manager.Sandbox{PrivateTmp: true, ProtectHome: "yes", BindPaths: []string{"/a"}, TemporaryFS: []string{"/var"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	byID, err := conn.ByInvocation(limited(t), one)
	if err != nil || byID.Name != u.Name {
		t.Errorf("by invocation: %q, %v", byID.Name, err)
	}
	byPID, err := conn.ByPID(limited(t), 7)
	if err != nil || byPID.Name != u.Name {
		t.Errorf("by pid: %q, %v", byPID.Name, err)
	}
}

func TestUnitNotLoaded(t *testing.T) {
	fake := managertest.New(t)
	conn, ctx := dial(t, fake.Address), limited(t)
	for what, err := range map[string]error{
		"unit":       second(conn.Unit(ctx, "none.service")),
		"invocation": second(conn.ByInvocation(ctx, two)),
		"pid":        second(conn.ByPID(ctx, 7)),
		"pid 0":      second(conn.ByPID(ctx, 0)),
	} {
		if !errors.Is(err, manager.ErrNotLoaded) {
			t.Errorf("%s: %v, want ErrNotLoaded", what, err)
		}
	}
	for _, id := range []string{"", "xyz", strings.Repeat("0", 32), one[1:], one + "11"} {
		if _, err := conn.ByInvocation(ctx, id); err == nil {
			t.Errorf("invocation %q: no error", id)
		}
	}
	if calls := fake.Calls(); len(calls) > 0 {
		t.Errorf("a look-up did %q", calls)
	}
	if u, err := conn.Load(ctx, "none.service"); err != nil || u.ActiveState != "inactive" {
		t.Errorf("load: %+v, %v", u, err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestLive(t *testing.T) {
	for _, c := range []struct {
		active, sub string
		want        manager.State
	}{
		{"active", "running", manager.Alive},
		{"active", "exited", manager.Alive},
		{"activating", "start", manager.Alive},
		{"activating", "auto-restart", manager.Over},
		{"activating", "auto-restart-queued", manager.Over},
		{"deactivating", "stop-post", manager.Alive},
		{"reloading", "reload", manager.Alive},
		{"maintenance", "x", manager.Alive},
		{"a word of tomorrow", "x", manager.Alive},
		{"inactive", "dead", manager.Over},
		{"failed", "failed", manager.Over},
	} {
		got := manager.Unit{ActiveState: c.active, SubState: c.sub, Invocation: one}.Life()
		if got.State != c.want || got.Invocation != one {
			t.Errorf("%s (%s): %+v, want %v", c.active, c.sub, got, c.want)
		}
	}
	fake := managertest.New(t, running("a.service"))
	conn := dial(t, fake.Address)
	if life, err := conn.Live(limited(t), "a.service"); err != nil || life != (manager.Life{State: manager.Alive, Invocation: one}) {
		t.Errorf("running: %+v, %v", life, err)
	}
	if life, err := conn.Live(limited(t), "none.service"); err != nil || life.State != manager.Over {
		t.Errorf("not loaded: %+v, %v", life, err)
	}
	conn.Close()
	if life, err := conn.Live(limited(t), "a.service"); !errors.Is(err, manager.ErrUnreachable) || life.State != manager.Unknown {
		t.Errorf("no connection: %+v, %v", life, err)
	}
}

func TestLifeIsOver(t *testing.T) {
	for life, want := range map[manager.Life]bool{
		{State: manager.Over, Invocation: one}:  true,
		{State: manager.Over, Invocation: two}:  true,
		{State: manager.Alive, Invocation: one}: false,
		{State: manager.Alive, Invocation: two}: true,
		{State: manager.Alive}:                  false,
		{}:                                      false,
		{Invocation: two}:                       false,
	} {
		if got := life.IsOver(one); got != want {
			t.Errorf("%+v: %v, want %v", life, got, want)
		}
	}
}
