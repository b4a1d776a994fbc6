package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"job-cleanup/pkg/clean/path"
	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/manager/managertest"
	"job-cleanup/pkg/outcome"
	"job-cleanup/pkg/residue"
)

// deferring is a spec with Defer=yes.
func (w *swept) deferring(tree string) residue.Spec {
	s := residue.Spec{Kind: "path", Selector: "Remove", Value: tree, Phase: residue.Data, Options: map[string][]string{"Defer": {"yes"}}}
	s.Identify()
	return s
}

// makes makes a tree that is as old as one must be to be told from a later
// invocation's.
func makes(t *testing.T, tree string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(tree, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * stampLag)
}

// putOff has a hook put a tree off, and returns what it recorded.
func (w *swept) putOff(spec residue.Spec) []ledger.Record {
	w.t.Helper()
	makes(w.t, spec.Value)
	cleaner, err := path.Kind.Open(spec, residue.Deps{Job: w.job.Job, Later: func() bool { return true }})
	if err != nil {
		w.t.Fatal(err)
	}
	found, err := cleaner.Find(w.t.Context())
	if err != nil || len(found) != 1 {
		w.t.Fatal(found, err)
	}
	deferred := residue.AsError(cleaner.Remove(w.t.Context(), found[0]))
	if deferred == nil || deferred.Reason != residue.Deferred {
		w.t.Fatal(deferred)
	}
	return []ledger.Record{
		ledger.NewSpec(spec), ledger.Found(spec.ID, found[0]), ledger.Complete(spec.ID),
		ledger.Attempt(spec.ID, found[0].ID, "owed", 0, deferred),
	}
}

// asides counts what stands aside beside a path.
func asides(t *testing.T, path string) int {
	t.Helper()
	all, err := filepath.Glob(filepath.Dir(path) + "/.job-cleanup~*")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// round is one sweep of all that the store owes.
func (w *swept) round() *pass {
	w.t.Helper()
	p := w.newPass(w.t.Context(), nil)
	if !p.store(w.t.Context(), w.store) {
		w.t.Error("a ledger could not be read")
	}
	return p
}

// records writes lines of the job's ledger.
func (w *swept) records(records ...ledger.Record) {
	w.t.Helper()
	l, err := w.store.Ledger(w.job.Unit, w.job.Invocation)
	if err != nil {
		w.t.Fatal(err)
	}
	ended := ledger.Ended(ledger.Ending{Outcome: outcome.Outcome{Result: "success"}})
	if err := l.Append(w.t.Context(), append([]ledger.Record{ledger.NewJob(w.job), ended}, records...)...); err != nil {
		w.t.Fatal(err)
	}
}

// owes lists the reasons of what is owed.
func (w *swept) owes() []string {
	w.t.Helper()
	lines, err := w.debts(w.t.Context(), w.store, "")
	if err != nil {
		w.t.Fatal(err)
	}
	var reasons []string
	for _, l := range lines {
		reasons = append(reasons, fmt.Sprintf("%s %d", l.Reason, l.Attempts))
	}
	return reasons
}

// TestDeferWhileTheUnitRuns: what stands aside goes while the unit runs again,
// which may be always, and whatever stands in its place stays.
func TestDeferWhileTheUnitRuns(t *testing.T) {
	w := newSwept(t, func() {})
	spec := w.deferring(filepath.Join(t.TempDir(), "tree"))
	plain := w.spec("path", "Remove", spec.Value+"-plain", residue.Data)
	makes(t, plain.Value)
	stays := w.deferring(spec.Value + "-stays") // put off in vain: it is found and stands in its place
	records := slices.Concat(w.putOff(spec), w.putOff(stays), []ledger.Record{ledger.NewSpec(plain)})
	aside, err := filepath.Glob(filepath.Dir(spec.Value) + "/.job-cleanup~tree-stays~*")
	if err != nil || len(aside) != 1 || os.Rename(aside[0], stays.Value) != nil {
		t.Fatal(aside, err)
	}
	w.records(records...)
	makes(t, spec.Value)
	w.bus.Put(managertest.Unit{Name: "late.service", Active: "active", Sub: "running", Invocation: strings.Repeat("2", 32)})
	p := w.round()
	if asides(t, spec.Value) != 1 {
		t.Fatal("it went before all else was done, or its place did")
	}
	release, err := w.store.LockUnit(t.Context(), "late.service") // the next job's arm or hook
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if !p.empty(t.Context()) || asides(t, spec.Value) != 0 {
		t.Error("it stays")
	}
	if !there(spec.Value) || !there(plain.Value) || !there(stays.Value) {
		t.Error("the tree in which the unit runs is gone")
	}
	if owed := w.owes(); len(owed) != 2 {
		t.Errorf("owed: %q", owed)
	}
}

// TestDeferredBySweep: a tree that no hook came to is first moved out of the
// way, under the unit's lock, and deleted after all else.
func TestDeferredBySweep(t *testing.T) {
	w := newSwept(t, func() {})
	spec := w.deferring(filepath.Join(t.TempDir(), "tree"))
	makes(t, spec.Value)
	w.records(ledger.NewSpec(spec))
	p := w.round()
	if there(spec.Value) || asides(t, spec.Value) != 1 {
		t.Fatal("it was not moved aside")
	}
	if owed := w.owes(); len(owed) != 1 || owed[0] != "deferred 0" {
		t.Errorf("owed: %q", owed)
	}
	if p.empty(t.Context()); asides(t, spec.Value) != 0 {
		t.Error("it stays")
	}
	if owed := w.owes(); len(owed) != 0 {
		t.Errorf("owed: %q", owed)
	}
}

// TestDeferredByArm: arm deletes nothing that can be moved aside, and comes to
// what was cut off.
func TestDeferredByArm(t *testing.T) {
	w := newSwept(t, func() {})
	aside, inPlace := w.deferring(filepath.Join(t.TempDir(), "aside")), w.deferring(filepath.Join(t.TempDir(), "tree"))
	records := w.putOff(aside)
	makes(t, inPlace.Value)
	w.records(append(records[:len(records)-1], ledger.NewSpec(inPlace))...) // killed right after the rename
	w.bus.Put(managertest.Unit{Name: "late.service", Active: "activating", Sub: "start-pre", Invocation: strings.Repeat("2", 32)})
	o := &options{unit: "late.service", invocation: strings.Repeat("2", 32), user: true, stateDir: w.opts.stateDir}
	if code, err := runArm(t.Context(), w.program, o); code != exitDone || err != nil {
		t.Fatal(code, err)
	}
	if there(inPlace.Value) || asides(t, inPlace.Value) != 1 {
		t.Error("what no hook came to was not moved aside")
	}
	if asides(t, aside.Value) != 1 || !slices.Contains(w.owes(), "unsettled 0") {
		t.Errorf("what stood aside was touched while a job waited: %q", w.owes())
	}
	w.round().empty(t.Context())
	if asides(t, inPlace.Value)+asides(t, aside.Value) != 0 {
		t.Error("something stays aside")
	}
}

// TestDeferNoConfusion: without the ledger that has it nobody touches what
// stands aside, and a ledger that names something else gets that and no more.
func TestDeferNoConfusion(t *testing.T) {
	w := newSwept(t, func() {})
	spec := w.deferring(filepath.Join(t.TempDir(), "tree"))
	w.putOff(spec) // and the ledger is lost
	w.records(ledger.NewSpec(spec), ledger.NewSpec(w.deferring(filepath.Dir(spec.Value)+"/.*")))
	w.round().empty(t.Context())
	if asides(t, spec.Value) != 1 {
		t.Error("it went by a pattern")
	}
}

// TestDeferIsNoFailure: --strict is content, the record is no warning, status
// tells it, and a hook that comes again changes nothing.
func TestDeferIsNoFailure(t *testing.T) {
	s := newStage(t)
	tree := filepath.Join(s.dir, "tree")
	makes(t, tree)
	for range 2 {
		out := s.run("run", "--strict", "--json", "--unit", "d.service", "--invocation", "one", "--step", "Path Defer=yes Remove="+tree)
		if there(tree) || asides(t, tree) != 1 {
			t.Fatalf("not moved aside:\n%s", out)
		}
		for line := range strings.Lines(out) {
			if !strings.Contains(line, `"PRIORITY":"6"`) || !strings.Contains(line, `"JOB_CLEANUP_REASON":"deferred"`) {
				t.Errorf("record: %s", line)
			}
		}
	}
	if out := s.run("status", "--json"); !strings.Contains(out, `"attempts":0,"reason":"deferred"`) {
		t.Errorf("status says\n%s", out)
	}
}

// TestDeferUnrecorded: what can't be written down is deleted at once.
func TestDeferUnrecorded(t *testing.T) {
	s := newStage(t)
	tree := filepath.Join(s.dir, "tree")
	makes(t, tree)
	s.must(os.WriteFile(filepath.Join(s.state, "root/d.service"), nil, 0o600)) // where its folder belongs
	out := s.run("run", "--unit", "d.service", "--invocation", "one", "--step", "Path Defer=yes Remove="+tree)
	if there(tree) || asides(t, tree) != 0 {
		t.Errorf("it stays:\n%s", out)
	}
}

// TestDeferByHand: what is put off is no other debt of the same step, whose
// place may hold something new.
func TestDeferByHand(t *testing.T) {
	w := newSwept(t, func() {})
	deferred, failed := w.deferring(filepath.Join(t.TempDir(), "tree")), w.spec("path", "Remove", "/var/tmp/none", residue.Data)
	w.records(append(w.putOff(deferred), ledger.NewSpec(failed))...)
	owed := map[string]bool{}
	w.owedBy(t.Context(), w.store, ledger.Entry{Unit: w.job.Unit, Invocation: w.job.Invocation}, owed)
	if len(owed) != 1 || !owed[failed.ID] {
		t.Errorf("owed: %v", owed)
	}
}

// TestDeferredByHand: who names the unit means all of it, also what its last
// hook put off.
func TestDeferredByHand(t *testing.T) {
	w := newSwept(t, func() {})
	spec := w.deferring(filepath.Join(t.TempDir(), "tree"))
	w.records(w.putOff(spec)...)
	o := &options{args: []string{"late.service"}, user: true, stateDir: w.opts.stateDir}
	if code, err := runRun(t.Context(), w.program, o); code != exitDone || err != nil || asides(t, spec.Value) != 0 {
		t.Errorf("aside stand %d (%d, %v)", asides(t, spec.Value), code, err)
	}
	if owed := w.owes(); len(owed) != 0 {
		t.Errorf("owed: %q", owed)
	}
}
