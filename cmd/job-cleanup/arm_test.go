package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"job-cleanup/pkg/clean/path"
	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/manager/managertest"
	"job-cleanup/pkg/residue"
)

// slow is local residue that takes its time, and does not mind contexts.
type slow struct{}

func (slow) Find(context.Context) ([]residue.Residue, error) {
	time.Sleep(20 * time.Second)
	return nil, nil
}
func (slow) Remove(context.Context, residue.Residue) error { return nil }

func (s slow) Prepare(context.Context) (map[string]string, error) {
	time.Sleep(20 * time.Second)
	return nil, nil
}

// newSlowArm is a unit with half a second for arm, an earlier invocation that
// owes something slow, and a command line to arm it with.
func newSlowArm(t *testing.T) (*program, *options, *ledger.Store) {
	t.Helper()
	useKinds(t, path.Kind, &residue.Kind{Name: "slow", Local: true, Selectors: []residue.Selector{{Key: "Do", Type: "slow"}},
		Open: func(residue.Spec, residue.Deps) (residue.Cleaner, error) { return slow{}, nil }})
	m := managertest.New(t, managertest.Unit{Name: "slow.service", Active: "activating", Sub: "start-pre", Invocation: strings.Repeat("2", 32),
		Started: time.Now(), Service: map[string]any{"TimeoutStartUSec": uint64(1500 * time.Millisecond / time.Microsecond)}})
	dir := filepath.Dir(strings.TrimPrefix(m.Address, "unix:path="))
	p := &program{env: environment{"XDG_RUNTIME_DIR": dir}, stdout: io.Discard, stderr: io.Discard, uid: os.Getuid(), gid: os.Getgid()}
	state := t.TempDir()
	store := storeOfTests(state)
	earlier, err := store.Ledger("slow.service", strings.Repeat("1", 32))
	if err != nil {
		t.Fatal(err)
	}
	job := ledger.Job{Job: residue.Job{UserBus: true}, Witness: ledger.ByManager}
	if err := earlier.Append(t.Context(), ledger.NewJob(job), ledger.NewSpec(residue.Spec{Kind: "slow", Selector: "Do", Value: "x", Phase: residue.Data})); err != nil {
		t.Fatal(err)
	}
	o := &options{unit: "slow.service", invocation: strings.Repeat("2", 32), user: true, stateDir: state}
	return p, o, store
}

// armedSpecs arms and returns what was recorded by then.
func armedSpecs(t *testing.T, p *program, o *options, store *ledger.Store) []string {
	t.Helper()
	began := time.Now()
	if code, err := runArm(t.Context(), p, o); code != exitDone || err != nil {
		t.Errorf("%d, %v", code, err)
	}
	if took := time.Since(began); took > 1500*time.Millisecond {
		t.Errorf("took %v of a start limit of 1.5 s", took)
	}
	l, err := store.Ledger(o.unit, o.invocation)
	if err != nil {
		t.Fatal(err)
	}
	state, err := l.Replay(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, debt := range state.Owed() {
		values = append(values, debt.Spec.Value)
	}
	return values
}

// TestCase44_earlierDebtsDoNotDelay: what earlier invocations owe keeps the new
// one neither from being armed nor from starting in time.
func TestCase44_earlierDebtsDoNotDelay(t *testing.T) {
	p, o, store := newSlowArm(t)
	o.steps = []string{"Path Remove=/var/tmp/job-cleanup-none"}
	if got := armedSpecs(t, p, o, store); len(got) != 1 || got[0] != "/var/tmp/job-cleanup-none" {
		t.Errorf("armed %q", got)
	}
}

// TestCase44_deafPreparer: a kind that hangs while it looks around costs its
// facts, not the arming.
func TestCase44_deafPreparer(t *testing.T) {
	p, o, store := newSlowArm(t)
	o.steps = []string{"Slow Do=y", "Path Remove=/var/tmp/job-cleanup-none"}
	if got := armedSpecs(t, p, o, store); len(got) != 2 {
		t.Errorf("armed %q", got)
	}
}

// TestArmLooksForNobody: what a job's environment names is not looked for with
// root's rights, nor asked of a server that it names.
func TestArmLooksForNobody(t *testing.T) {
	asked := false
	useKinds(t, &residue.Kind{Name: "ask", Open: func(residue.Spec, residue.Deps) (residue.Cleaner, error) {
		asked = true
		return meddler{}, nil
	}})
	s := &site{program: &program{uid: 0}, opts: &options{}}
	sub := &subject{}
	for _, user := range []*residue.Identity{nil, {UID: nobody}} {
		sub.job.User = user
		s.prepare(t.Context(), sub, residue.Spec{Kind: "ask", FromEnv: true}, &recorder{})
		if asked {
			t.Errorf("opened for %v", user)
		}
	}
	sub.job.User = &residue.Identity{}
	if s.prepare(t.Context(), sub, residue.Spec{Kind: "ask", FromEnv: true}, &recorder{}); !asked {
		t.Error("not opened for a job of root's")
	}
}
