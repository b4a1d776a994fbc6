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
	"job-cleanup/pkg/manager"
	"job-cleanup/pkg/manager/managertest"
	"job-cleanup/pkg/residue"
)

// meddler stands for whoever acts between the moment when a sweep looked at the
// unit and the moment when it comes to the paths.
type meddler struct{ act func() }

func (m meddler) Find(context.Context) ([]residue.Residue, error) { m.act(); return nil, nil }
func (meddler) Remove(context.Context, residue.Residue) error     { return nil }

// swept is an ended job of a unit on a manager of its own, in this process.
type swept struct {
	*site
	t     *testing.T
	bus   *managertest.Manager
	store *ledger.Store
	job   ledger.Job
}

func newSwept(t *testing.T, act func(), more ...*residue.Kind) *swept {
	t.Helper()
	useKinds(t, append(more, path.Kind, &residue.Kind{Name: "meddle", Selectors: []residue.Selector{{Key: "Do", Type: "meddle"}},
		Open: func(residue.Spec, residue.Deps) (residue.Cleaner, error) { return meddler{act}, nil }})...)
	m := managertest.New(t, managertest.Unit{Name: "late.service", Active: "inactive", Sub: "dead", Invocation: strings.Repeat("1", 32)})
	dir := filepath.Dir(strings.TrimPrefix(m.Address, "unix:path="))
	p := &program{env: environment{"XDG_RUNTIME_DIR": dir}, stdout: io.Discard, stderr: io.Discard, uid: os.Getuid(), gid: os.Getgid()}
	s := p.site(&options{stateDir: t.TempDir()})
	w := &swept{site: s, t: t, bus: m}
	w.job = ledger.Job{Witness: ledger.ByManager, Armed: true}
	w.job.UserBus, w.job.Start, w.job.User = true, time.Now().Add(-time.Hour), s.callerIdentity()
	w.job.Unit, w.job.Invocation = "late.service", strings.Repeat("1", 32)
	w.job.Boot, _ = manager.BootID("/")
	w.store = s.storeOf(w.job.Job)
	return w
}

// sweep records the job with some more lines and sweeps it.
func (w *swept) sweep(records ...ledger.Record) {
	w.t.Helper()
	w.records(records...)
	entry := ledger.Entry{Unit: w.job.Unit, Invocation: w.job.Invocation}
	if err := w.newPass(w.t.Context(), nil).job(w.t.Context(), w.store, entry); err != nil {
		w.t.Fatal(err)
	}
}

func (w *swept) spec(kind, selector, value string, phase residue.Phase) residue.Spec {
	s := residue.Spec{Kind: kind, Selector: selector, Value: value, Phase: phase}
	s.Identify()
	return s
}

// TestSweepLeavesWhatIsBornMeanwhile: the unit may start again while a sweep is
// at work. What a pattern names then, and was not there when the unit was seen
// to be down, is the new invocation's.
func TestSweepLeavesWhatIsBornMeanwhile(t *testing.T) {
	tree := filepath.Join(t.TempDir(), "tree")
	w := newSwept(t, func() {
		if err := os.Mkdir(tree, 0o755); err != nil {
			t.Error(err)
		}
	})
	w.sweep(ledger.NewSpec(w.spec("meddle", "Do", "x", residue.Processes)), ledger.NewSpec(w.spec("path", "Remove", tree, residue.Data)))
	if !there(tree) {
		t.Error("the new invocation's tree is gone")
	}
}

// TestSweepLeavesTheUnitsPlaceWhileItRuns: mkdir -p takes an earlier
// invocation's tree, which proof can't tell from a new one.
func TestSweepLeavesTheUnitsPlaceWhileItRuns(t *testing.T) {
	tree, own := filepath.Join(t.TempDir(), "tree"), filepath.Join(t.TempDir(), "own")
	w := newSwept(t, func() {})
	var proven []residue.Residue
	for _, dir := range []string{tree, own} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		spec := w.spec("path", "Remove", dir, residue.Data)
		cleaner, err := path.Kind.Open(spec, residue.Deps{Job: w.job.Job})
		if err != nil {
			t.Fatal(err)
		}
		found, err := cleaner.Find(t.Context())
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		proven = append(proven, found[0])
	}
	pattern, tracked := w.spec("path", "Remove", tree, residue.Data), w.spec("path", "Remove", own, residue.Data)
	tracked.Tracked = &proven[1]
	tracked.Identify()
	w.bus.Put(managertest.Unit{Name: "late.service", Active: "active", Sub: "running", Invocation: strings.Repeat("2", 32)})
	w.sweep(ledger.NewSpec(pattern), ledger.Found(pattern.ID, proven[0]), ledger.Complete(pattern.ID), ledger.NewSpec(tracked))
	if !there(tree) {
		t.Error("the tree in which the unit runs is gone")
	}
	if there(own) {
		t.Error("what that invocation tracked stays")
	}
	w.bus.Put(managertest.Unit{Name: "late.service", Active: "inactive", Sub: "dead", Invocation: strings.Repeat("2", 32)})
	w.sweep()
	if there(tree) {
		t.Error("the tree stays when the unit is down")
	}
}
