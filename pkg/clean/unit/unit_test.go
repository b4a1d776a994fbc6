package unit

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"job-cleanup/pkg/clean/cleantest"
	"job-cleanup/pkg/manager"
	"job-cleanup/pkg/manager/managertest"
	"job-cleanup/pkg/residue"
)

var begin = time.UnixMicro(1_700_000_000_000_000)

func testJob() residue.Job {
	return residue.Job{Unit: "batch@1.service", Invocation: invocation, Start: begin, End: begin.Add(time.Minute)}
}

// helper is a running unit of the job.
func helper(name, invocation string) managertest.Unit {
	return managertest.Unit{Name: name, Active: "active", Sub: "running", Invocation: invocation, Started: begin.Add(time.Second), Transient: true}
}

// id makes an invocation id.
func id(n int) string { return fmt.Sprintf("%032x", 0xabc000+n) }

func openAt(t *testing.T, address, selector, value string) residue.Cleaner {
	t.Helper()
	c, err := kindAt(address).Open(residue.Spec{Kind: "unit", Selector: selector, Value: value}, residue.Deps{Job: testJob()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func kindAt(address string) *residue.Kind {
	return newKind(func(residue.Deps) manager.Address { return manager.Address{Bus: address} })
}

func limited(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func refs(found []residue.Residue) string {
	var all []string
	for _, r := range found {
		all = append(all, r.Ref)
	}
	return strings.Join(all, " ")
}

func class(err error) string {
	e := residue.AsError(err)
	if e == nil {
		return "ok"
	}
	return fmt.Sprint([...]string{"retry", "unreachable", "gone", "refused", "lost", "until"}[e.Class], " ", e.Reason)
}

// TestConformance runs the suite of all kinds on a fake manager.
func TestConformance(t *testing.T) {
	for _, c := range []struct{ selector, state string }{{"Stop", "active"}, {"ResetFailed", "failed"}} {
		t.Run(c.selector, func(t *testing.T) { cleantest.Run(t, subject(t, managertest.New(t), c.selector, c.state)) })
	}
}

func subject(t *testing.T, fake *managertest.Manager, selector, state string) cleantest.Subject {
	n := 0
	put := func(name string) {
		n++
		u := helper(name, id(n))
		u.Active, u.Transient = state, false
		fake.Put(u)
	}
	return cleantest.Subject{
		Kind: kindAt(fake.Address),
		Spec: func(ref string) residue.Spec { return residue.Spec{Selector: selector, Value: ref} },
		Deps: func(testing.TB) residue.Deps { return residue.Deps{Job: testJob()} },
		Make: func(testing.TB) string {
			name := fmt.Sprintf("helper-%d-1.service", n)
			put(name)
			return name
		},
		Exists: func(_ testing.TB, ref string) bool { u, ok := fake.Get(ref); return ok && u.Active == state },
		Remove: func(_ testing.TB, ref string) { fake.Drop(ref) },
		Decoy: func(_ testing.TB, ref string) func() error {
			longer := strings.TrimSuffix(ref, ".service") + "0.service"
			put(longer)
			return func() error {
				if u, ok := fake.Get(longer); !ok || u.Active != state {
					return fmt.Errorf("%s is %q", longer, u.Active)
				}
				return nil
			}
		},
		State: func(testing.TB, string) string { return strings.Join(fake.Calls(), "\n") },
		Up:    func(testing.TB) { fake.Serve(t) }, // for the subtests after this one too
		Down:  func(t testing.TB) { fake.Leave(t) },
	}
}

func TestFindPattern(t *testing.T) {
	early, late, installed, ended := helper("batch-1-early.service", id(1)), helper("batch-1-late.service", id(2)), helper("batch-1-own.service", id(3)), helper("batch-1-ended.service", id(4))
	early.Started, late.Started = begin.Add(-time.Second), begin.Add(time.Hour)
	installed.Transient, ended.Active = false, "inactive"
	fake := managertest.New(t, early, ended, helper("batch-1-db.service", id(5)), helper("batch-10-db.service", id(6)), helper("batch@1.service", id(7)))
	c := openAt(t, fake.Address, "Stop", "batch-1-*.service")
	found, err := c.Find(limited(t))
	if refs(found) != "batch-1-db.service" || err != nil {
		t.Errorf("found %q, %v", refs(found), err)
	}
	fake.Put(installed)
	found, err = c.Find(limited(t))
	if refs(found) != "batch-1-db.service" || class(err) != "refused protected" {
		t.Errorf("with an installed unit: found %q, %v", refs(found), err)
	}
	fake.Put(late)
	found, err = c.Find(limited(t))
	if refs(found) != "batch-1-db.service" || class(err) != "retry in-use" {
		t.Errorf("with a late unit: found %q, %v", refs(found), err)
	}
}

func TestFindAlias(t *testing.T) {
	u := helper("postgresql.service", id(1))
	u.Alias = "db-1.service"
	fake := managertest.New(t, u)
	found, err := openAt(t, fake.Address, "Stop", "db-1.service").Find(limited(t))
	if len(found) > 0 || class(err) != "refused protected" {
		t.Errorf("found %q, %v", refs(found), err)
	}
}

// TestCase22_nextRun: the name that the plan gives is in use by the next run.
func TestCase22_nextRun(t *testing.T) {
	u := helper("db-1.service", id(1))
	fake := managertest.New(t, u)
	c := openAt(t, fake.Address, "Stop", "db-1.service")
	found, err := c.Find(limited(t))
	if err != nil || len(found) != 1 {
		t.Fatalf("found %q, %v", refs(found), err)
	}
	u.Invocation, u.Started = id(2), begin.Add(time.Hour)
	fake.Put(u)
	if again, err := c.Find(limited(t)); len(again) > 0 || class(err) != "retry in-use" {
		t.Errorf("found %q, %v", refs(again), err)
	}
	if err := c.Remove(limited(t), found[0]); class(err) != "lost changed" {
		t.Errorf("remove: %v", err)
	}
	intent := residue.Residue{Type: "unit", Ref: "db-1.service"}
	if err := c.Remove(limited(t), intent); class(err) != "retry in-use" {
		t.Errorf("remove an intent: %v", err)
	}
	if u, _ := fake.Get("db-1.service"); u.Active != "active" {
		t.Errorf("the next run's unit is %s", u.Active)
	}
}

func TestRemoveIntent(t *testing.T) {
	fake := managertest.New(t, helper("db-1.service", id(1)))
	c := openAt(t, fake.Address, "Stop", "db-1.service")
	intent := residue.Residue{Type: "unit", Ref: "db-1.service"}
	for _, want := range []string{"ok", "gone absent"} {
		if err := c.Remove(limited(t), intent); class(err) != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestTracked(t *testing.T) {
	fake := managertest.New(t, helper("db-1.service", id(1)))
	for invocation, want := range map[string]int{"": 1, id(1): 1, id(2): 0} {
		tracked := residue.Residue{Type: "unit", Ref: "db-1.service"}
		if invocation != "" {
			tracked.Proof = map[string]string{"invocation": invocation}
		}
		c, err := kindAt(fake.Address).Open(residue.Spec{Kind: "unit", Selector: "Stop", Tracked: &tracked}, residue.Deps{Job: testJob()})
		if err != nil {
			t.Fatal(err)
		}
		if found, err := c.Find(limited(t)); err != nil || len(found) != want {
			t.Errorf("invocation %q: found %q, %v", invocation, refs(found), err)
		}
	}
}

// A recorded reference is checked like a plan's: ledgers can be written to.
func TestRefused(t *testing.T) {
	for _, name := range []string{"batch@1.service", "batch@2.service", "dbus.service", "*.service", "db.service", ""} {
		_, err := Kind.Open(residue.Spec{Kind: "unit", Selector: "Stop", Value: name}, residue.Deps{Job: testJob()})
		if class(err) != "refused protected" {
			t.Errorf("open %q: %v", name, err)
		}
		tracked := residue.Residue{Type: "unit", Ref: name}
		_, err = Kind.Open(residue.Spec{Kind: "unit", Selector: "Stop", Tracked: &tracked}, residue.Deps{Job: testJob()})
		if class(err) != "refused protected" {
			t.Errorf("open tracked %q: %v", name, err)
		}
	}
	fake := managertest.New(t, helper("dbus.service", id(1)), helper("db-1.service", id(2)))
	c := openAt(t, fake.Address, "Stop", "db-1.service")
	for _, r := range []residue.Residue{
		{Type: "unit", Ref: "dbus.service", Proof: map[string]string{"invocation": id(1)}},
		{Type: "path", Ref: "db-1.service", Proof: map[string]string{"invocation": id(2)}},
	} {
		if err := c.Remove(limited(t), r); class(err) != "refused protected" {
			t.Errorf("remove %+v: %v", r, err)
		}
	}
	if calls := fake.Calls(); len(calls) > 0 {
		t.Errorf("the manager was asked to %q", calls)
	}
}

func TestAnswers(t *testing.T) {
	denied, stuck := managertest.New(t, helper("db-1.service", id(1))), helper("slow-1.service", id(2))
	stuck.Stuck = true
	denied.Deny()
	slow := managertest.New(t, stuck)
	for what, c := range map[string]struct{ address, ref, invocation, want string }{
		"denied":      {denied.Address, "db-1.service", id(1), "retry permission"},
		"slow":        {slow.Address, "slow-1.service", id(2), "retry timeout"},
		"no bus":      {"unix:path=/nonexistent/bus", "db-1.service", id(1), "unreachable unreachable"},
		"no manager":  {managertest.Bus(t), "db-1.service", id(1), "unreachable unreachable"},
		"silent":      {managertest.Silent(t), "db-1.service", id(1), "unreachable timeout"},
		"not running": {slow.Address, "db-1.service", id(9), "gone absent"},
	} {
		ctx, cancel := context.WithTimeoutCause(limited(t), time.Second, fmt.Errorf("the engine's own word"))
		err := openAt(t, c.address, "Stop", c.ref).Remove(ctx, residue.Residue{Type: "unit", Ref: c.ref, Proof: map[string]string{"invocation": c.invocation}})
		if class(err) != c.want {
			t.Errorf("%s: %s (%v), want %s", what, class(err), err, c.want)
		}
		// The engine takes a call that outlasts its time for a dead bus.
		if what == "slow" && ctx.Err() != nil {
			t.Errorf("%s: answered too late", what)
		}
		cancel()
	}
}

func TestAddress(t *testing.T) {
	user := residue.Job{UserBus: true, User: &residue.Identity{UID: 1234}}
	lookup := func(string) (string, bool) { return "relative", true }
	for want, deps := range map[string]residue.Deps{
		"unix:path=/run/dbus/system_bus_socket": {},
		"unix:path=/run/user/1234/bus":          {Job: user, Env: lookup},
	} {
		if got := address(deps).Bus; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
