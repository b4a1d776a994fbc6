package main

import (
	"os"
	"path/filepath"
	"testing"

	"job-cleanup/pkg/ledger"
)

// TestNarrowedByHandEndsNoDebt: who asks for one step by hand has not said that
// the others need not be done any more; who asks for it in the hook has.
func TestNarrowedByHandEndsNoDebt(t *testing.T) {
	for _, byHand := range []bool{true, false} {
		s := newStage(t)
		s.byHand = byHand
		other := s.spec("command", "Run", "/bin/true")
		s.must(s.root().Append(t.Context(), ledger.NewSpec(other)))
		out := s.run("run", "--unit", "u.service", "--invocation", "one", "--only", "path")
		state, err := s.root().Replay(t.Context())
		owed := err == nil && len(state.Owed()) == 1
		if owed != byHand {
			t.Errorf("by hand %v: still owed %v (%v)\n%s", byHand, owed, err, out)
		}
	}
}

// TestPlanFileGone: a plan that the job itself removed keeps nothing that was
// armed from being cleaned.
func TestPlanFileGone(t *testing.T) {
	s := newStage(t)
	armed := s.file("armed", 0)
	s.must(s.root().Append(t.Context(), ledger.NewSpec(s.spec("path", "Remove", armed))))
	out := s.run("run", "--unit", "u.service", "--invocation", "one", "--plan", filepath.Join(s.dir, "gone"))
	if there(armed) {
		t.Errorf("what was armed stays:\n%s", out)
	}
	if _, err := os.Stat(filepath.Join(s.state, "root/u.service/one.jsonl")); err == nil {
		t.Error("it is still owed")
	}
}
