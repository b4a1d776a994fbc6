package manager_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"job-cleanup/pkg/manager"
	"job-cleanup/pkg/manager/managertest"
)

func TestDialUnreachable(t *testing.T) {
	none := "unix:path=" + filepath.Join(t.TempDir(), "none")
	empty := managertest.Bus(t)
	for what, address := range map[string]string{"no socket": none, "no manager on the bus": empty, "nonsense": "nonsense", "empty": ""} {
		if _, err := manager.Dial(limited(t), manager.Address{Bus: address}); !errors.Is(err, manager.ErrUnreachable) {
			t.Errorf("%s: %v, want ErrUnreachable", what, err)
		}
	}
}

func TestCase10_silentBus(t *testing.T) {
	silent := managertest.Silent(t)
	begin := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_, err := manager.Dial(ctx, manager.Address{Bus: silent, Private: strings.TrimPrefix(silent, "unix:path=")})
	if !errors.Is(err, manager.ErrUnreachable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(begin); took > 3*time.Second {
		t.Errorf("took %v", took)
	}
	ctx, cancel = context.WithCancel(context.Background())
	cancel()
	if _, err := manager.Dial(ctx, manager.Address{Bus: silent}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// The connection outlives the context it was made with.
func TestDialContextEnds(t *testing.T) {
	fake := managertest.New(t, running("a.service"))
	ctx, cancel := context.WithCancel(context.Background())
	conn, err := manager.Dial(ctx, manager.Address{Bus: fake.Address})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	cancel()
	if _, err := conn.Unit(limited(t), "a.service"); err != nil {
		t.Errorf("after the context of the dial ended: %v", err)
	}
	if _, err := conn.Unit(ctx, "a.service"); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that ended: %v", err)
	}
}

func TestDialIgnoresEnvironment(t *testing.T) {
	fake := managertest.New(t)
	for _, name := range []string{"DBUS_SYSTEM_BUS_ADDRESS", "DBUS_SESSION_BUS_ADDRESS"} {
		t.Setenv(name, fake.Address)
	}
	a := manager.User(filepath.Join(t.TempDir(), "a b"))
	if _, err := manager.Dial(limited(t), a); !errors.Is(err, manager.ErrUnreachable) {
		t.Errorf("got %v: the environment's bus was used", err)
	}
}
