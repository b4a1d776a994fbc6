package kill_test

import (
	"slices"
	"testing"

	"job-cleanup/pkg/ledger"
)

// armed reports whether the ledger has all that was to be armed.
func armed(state *ledger.State) bool { return state != nil && len(state.Accounts) == 3 }

// TestKillArm: arm records all or nothing, and what it settles stays owed
// until it is gone.
func TestKillArm(t *testing.T) {
	w, when := newWorld(t), newMoments(t)
	var jobs []job
	for range *kills {
		j := w.newJob()
		_, ended := when.killed(t, w, slices.Concat([]string{"arm"}, j.options(), j.steps())...)
		state := j.owed()
		if state != nil && len(state.Accounts) > 0 && !armed(state) {
			t.Errorf("%s is armed in part", j.invocation)
		}
		if ended && !armed(state) {
			t.Errorf("arm of %s came to its end and recorded nothing", j.invocation)
		}
		if armed(state) { // else the job would leave what nobody knows of
			j.leaves()
			jobs = append(jobs, j)
		}
		w.check(jobs)
	}
	t.Logf("%d of %d armed", len(jobs), *kills)
	w.sweepsAll(jobs)
}

// check looks at the latest jobs: what is called done is.
func (w *world) check(jobs []job) {
	w.t.Helper()
	for _, j := range jobs[max(0, len(jobs)-2*units):] {
		j.owed()
	}
	w.told()
}

// TestKillTrack: what track printed an id for is never forgotten.
func TestKillTrack(t *testing.T) {
	w, when := newWorld(t), newMoments(t)
	var jobs []job
	promised := 0
	for range *kills {
		j := w.newJob()
		j.leaves()
		id, _ := when.killed(t, w, append([]string{"track", "path", j.tree}, j.options()...)...)
		state := j.owed()
		switch {
		case len(id) > 0 && (state == nil || len(state.Owed()) != 1):
			t.Errorf("track of %s printed %q and recorded nothing", j.invocation, id)
		case len(id) > 0:
			promised++
		case state == nil || len(state.Owed()) == 0:
			w.must(append([]string{"track", "path", j.tree}, j.options()...)...) // the script tries again
		}
		w.must(append([]string{"track", "path", j.file}, j.options()...)...)
		w.must(append([]string{"track", "lockfile", j.lock, "--holder", "flock"}, j.options()...)...)
		jobs = append(jobs, j)
	}
	t.Logf("%d of %d promised", promised, *kills)
	w.sweepsAll(jobs)
}

// TestKillRun: a hook that is killed leaves nothing but what is owed.
func TestKillRun(t *testing.T) {
	w, when := newWorld(t), newMoments(t)
	var jobs []job
	ends := 0
	for range *kills {
		j := w.newJob()
		j.arms()
		j.leaves()
		if _, ended := when.killed(t, w, append([]string{"run"}, j.options()...)...); ended {
			ends++
			if left := j.left(); left != nil {
				t.Errorf("run of %s came to its end and left %q", j.invocation, left)
			}
		}
		if state := j.owed(); state == nil && j.left() != nil {
			t.Errorf("%s: nobody knows of %q", j.invocation, j.left())
		}
		jobs = append(jobs, j)
		w.check(jobs)
	}
	t.Logf("%d of %d came to their end", ends, *kills)
	w.sweepsAll(jobs)
}

// TestKillSweep: a sweep that is killed leaves nothing but what is owed.
func TestKillSweep(t *testing.T) {
	w, when := newWorld(t), newMoments(t)
	var jobs []job
	ends := 0
	for range *kills {
		for range 3 {
			j := w.newJob()
			j.arms()
			j.leaves()
			jobs = append(jobs, j)
		}
		if _, ended := when.killed(t, w, "sweep"); ended {
			ends++
		}
		for _, j := range jobs {
			if j.left() != nil && j.owed() == nil {
				t.Errorf("%s: nobody knows of %q", j.invocation, j.left())
			}
		}
		w.check(jobs)
		jobs = slices.DeleteFunc(jobs, func(j job) bool { return j.left() == nil && j.owed() == nil })
	}
	t.Logf("%d of %d came to their end", ends, *kills)
	w.sweepsAll(jobs)
}
