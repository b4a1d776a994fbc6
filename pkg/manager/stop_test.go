package manager_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"job-cleanup/pkg/manager"
	"job-cleanup/pkg/manager/managertest"
)

func TestStop(t *testing.T) {
	other, gone, transient, stuck := running("other.service"), running("gone.service"), running("run.scope"), running("stuck.service")
	other.Invocation, gone.Active = two, "inactive"
	gone.Invocation, transient.Invocation, stuck.Invocation = strings.Repeat("3", 32), strings.Repeat("4", 32), strings.Repeat("5", 32)
	transient.Transient, stuck.Stuck = true, true
	fake := managertest.New(t, running("a.service"), other, gone, transient, stuck)
	conn := dial(t, fake.Address)
	for _, c := range []struct {
		name, invocation string
		want             error
	}{
		{"a.service", one, nil},
		{"a.service", one, manager.ErrOver},
		{"run.scope", transient.Invocation, nil},
		{"run.scope", transient.Invocation, manager.ErrOver},
		{"gone.service", gone.Invocation, manager.ErrOver},
		{"never.service", strings.Repeat("9", 32), manager.ErrOver},
		{"other.service", strings.Repeat("9", 32), manager.ErrChanged},
		{"never.service", two, manager.ErrChanged}, // that invocation is other.service
		{"stuck.service", stuck.Invocation, manager.ErrRunning},
	} {
		ctx, cancel := context.WithTimeout(limited(t), 5*time.Second)
		if errors.Is(c.want, manager.ErrRunning) {
			ctx, cancel = context.WithTimeout(ctx, 100*time.Millisecond)
		}
		if err := conn.Stop(ctx, c.name, c.invocation); !errors.Is(err, c.want) || (c.want == nil) != (err == nil) {
			t.Errorf("stop %s %s: %v, want %v", c.name, c.invocation, err, c.want)
		}
		cancel()
	}
	if err := conn.Stop(limited(t), "other.service", ""); err == nil {
		t.Error("stop without an invocation: no error")
	}
	if got := strings.Join(fake.Calls(), ", "); got != "Stop a.service, Stop run.scope, Stop stuck.service" {
		t.Errorf("the manager was asked to %s", got)
	}
}

// The unit is started again between our look and our call: the new invocation
// must not be hit.
func TestStopRace(t *testing.T) {
	fake := managertest.New(t, running("a.service"))
	fake.BeforeChange(func() {
		next := running("a.service")
		next.Invocation = two
		fake.Put(next)
	})
	conn := dial(t, fake.Address)
	if err := conn.Stop(limited(t), "a.service", one); !errors.Is(err, manager.ErrChanged) {
		t.Errorf("got %v, want ErrChanged", err)
	}
	if u, _ := fake.Get("a.service"); u.Active != "active" || len(fake.Calls()) > 0 {
		t.Errorf("the next invocation is %s, calls %q", u.Active, fake.Calls())
	}
}

func TestResetFailed(t *testing.T) {
	failed := running("a.service")
	failed.Active, failed.Sub = "failed", "failed"
	fake := managertest.New(t, failed)
	conn := dial(t, fake.Address)
	if err := conn.ResetFailed(limited(t), "a.service", two); !errors.Is(err, manager.ErrOver) {
		t.Errorf("another invocation: %v", err)
	}
	for _, want := range []error{nil, manager.ErrOver} {
		if err := conn.ResetFailed(limited(t), "a.service", one); !errors.Is(err, want) || (want == nil) != (err == nil) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	if u, _ := fake.Get("a.service"); u.Active != "inactive" {
		t.Errorf("unit is %s", u.Active)
	}
}

func TestDenied(t *testing.T) {
	fake := managertest.New(t, running("a.service"))
	fake.Deny()
	if err := dial(t, fake.Address).Stop(limited(t), "a.service", one); !errors.Is(err, manager.ErrDenied) {
		t.Errorf("got %v, want ErrDenied", err)
	}
}

func TestList(t *testing.T) {
	fake := managertest.New(t, running("a-1.service"), running("a-2.service"), running("b.service"))
	conn := dial(t, fake.Address)
	got, err := conn.List(limited(t), "a-*")
	if err != nil || len(got) != 2 || got[0].ActiveState != "active" || !strings.HasPrefix(got[0].Name, "a-") {
		t.Errorf("got %+v, %v", got, err)
	}
	if all, err := conn.List(limited(t)); err != nil || len(all) != 3 {
		t.Errorf("all: %+v, %v", all, err)
	}
}
