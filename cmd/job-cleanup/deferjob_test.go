package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"job-cleanup/pkg/journal"
	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/residue"
)

// jobsTree makes a tree of the job's user.
func (s *stage) jobsTree() string {
	s.t.Helper()
	tree := filepath.Join(filepath.Dir(s.file("place", nobody)), "tree")
	makes(s.t, tree)
	for _, dir := range []string{tree, filepath.Join(tree, "sub")} {
		s.must(os.Chown(dir, nobody, nobody))
	}
	return tree
}

// TestDeferTracked: what a job tracked is put off by a process with the job's
// rights, which has written it down itself, and swept with them.
func TestDeferTracked(t *testing.T) {
	s := newStage(t)
	tree := s.jobsTree()
	spec := s.proven(tree)
	spec.Options = map[string][]string{"Defer": {"yes"}}
	spec.Identify()
	s.forge(ofOtherBoot(), ledger.NewSpec(spec))
	if out := s.run("run", "--strict", "--unit", "u.service", "--invocation", "one"); there(tree) || asides(t, tree) != 1 || !strings.Contains(out, "(deferred)") {
		t.Fatalf("not moved aside:\n%s", out)
	}
	if out := s.run("status", "--json"); !strings.Contains(out, `"reason":"deferred"`) {
		t.Errorf("status says\n%s", out)
	}
	makes(t, tree)
	if out := s.sweep(); asides(t, tree) != 0 || !there(tree) {
		t.Errorf("aside stand %d, the later tree is there: %v\n%s", asides(t, tree), there(tree), out)
	}
	if out := s.run("status", "--json"); strings.Contains(out, tree) {
		t.Errorf("status says\n%s", out)
	}
}

// TestDeferAsJob: what a User= job's hook put off is in that user's ledger, and
// goes with that user's rights, whatever When= and TimeoutSec= the step had.
func TestDeferAsJob(t *testing.T) {
	s := newStage(t)
	tree := s.jobsTree()
	w := &swept{t: t}
	spec := w.deferring(tree)
	spec.When, spec.Timeout = []string{"success"}, time.Nanosecond
	s.forge(append([]ledger.Record{ofOtherBoot()}, w.putOff(spec)...)...)
	if asides(t, tree) != 1 {
		t.Fatal("not moved aside")
	}
	if out := s.sweep("--boot"); asides(t, tree) != 1 {
		t.Errorf("deleted while others wait for it:\n%s", out)
	}
	if out := s.sweep(); asides(t, tree) != 0 || !strings.Contains(out, "removed path "+tree) {
		t.Errorf("it stays:\n%s", out)
	}
}

// TestDeferLent: what root has done with the job's rights it writes down
// itself, and the process that does it can't tell when: it puts nothing off.
func TestDeferLent(t *testing.T) {
	s := newStage(t)
	tree := s.jobsTree()
	spec := (&swept{}).deferring(tree)
	spec.FromEnv = true
	s.must(s.root().Append(t.Context(), ledger.NewSpec(spec)))
	s.forge(ofOtherBoot(), ledger.NewSpec(s.tracked(tree+"-tracked"))) // so that it has a ledger for that
	out := s.run("run", "--unit", "u.service", "--invocation", "one")
	if there(tree) || asides(t, tree) != 0 {
		t.Errorf("it stays:\n%s", out)
	}
}

// TestDeferDynamic: a dynamic user's process puts nothing off: when it is over,
// nobody has the right to what it left.
func TestDeferDynamic(t *testing.T) {
	for uid, want := range map[int]bool{0: true, 1000: true, dynamicFirst: false, dynamicLast: false, dynamicLast + 1: true} {
		s := &site{program: &program{uid: uid}, opts: &options{}}
		led, err := ledger.Own(t.TempDir()).Ledger("u.service", "one")
		if err != nil {
			t.Fatal(err)
		}
		rec := newRecorder(led, journal.NewStream(io.Discard, false), residue.Job{})
		if got := s.deps(residue.Job{}, residue.Spec{}, rec).Later(); got != want {
			t.Errorf("uid %d: %v, want %v", uid, got, want)
		}
	}
}
