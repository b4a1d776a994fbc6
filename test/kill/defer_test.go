package kill_test

import (
	"os"
	"slices"
	"testing"
)

// TestKillDefer: hooks that put trees off and sweeps that delete them are killed
// at any moment, also twice, while later jobs make trees of the same name.
// Nothing is forgotten where it stands, and nothing of a later job goes.
func TestKillDefer(t *testing.T) {
	w, hooks, sweeps := newWorld(t), newMoments(t), newMoments(t)
	w.deferred = true
	var jobs []job
	moved, ends := 0, 0
	for range *kills {
		j := w.newJob()
		j.arms()
		j.leaves()
		hook := append([]string{"run"}, j.options()...)
		for range 1 + hooks.IntN(2) {
			if _, ended := hooks.killed(t, w, hook...); ended {
				ends++
				if there(j.tree) {
					t.Errorf("run of %s came to its end and left %q", j.invocation, j.tree)
				}
			}
		}
		if !there(j.tree) && len(asides(j.tree)) == 1 {
			moved++
			j.comesAgain(t, sweeps)
		}
		jobs = append(jobs, j)
		for _, j := range jobs {
			if j.left() != nil && j.owed() == nil {
				t.Errorf("%s: nobody knows of %q", j.invocation, j.left())
			}
		}
		w.check(jobs)
		jobs = slices.DeleteFunc(jobs, func(j job) bool { return j.left() == nil && j.owed() == nil })
	}
	t.Logf("%d hooks came to their end, %d of %d trees were moved aside", ends, moved, *kills)
	if moved == 0 {
		t.Error("no tree was moved aside")
	}
	w.sweepsAll(jobs)
}

// comesAgain has the next job make a tree of the same name, which a sweep that
// is killed meanwhile leaves alone.
func (j job) comesAgain(t *testing.T, when *moments) {
	t.Helper()
	if err := os.Mkdir(j.tree, 0o755); err != nil {
		t.Fatal(err)
	}
	when.killed(t, j.w, "sweep")
	if err := os.Remove(j.tree); err != nil {
		t.Errorf("a sweep took the tree of a later job: %v", err)
	}
}
