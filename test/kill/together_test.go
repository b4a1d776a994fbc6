package kill_test

import (
	"sync"
	"testing"
)

// TestTogether: sweeps, hooks and an arm at once do no harm to each other: all
// is gone in the end, and nobody fails.
func TestTogether(t *testing.T) {
	w := newWorld(t)
	var jobs []job
	for range 60 {
		j := w.newJob()
		j.arms()
		j.leaves()
		jobs = append(jobs, j)
	}
	next := w.newJob()
	commands := [][]string{{"sweep"}, {"sweep"}, {"sweep", "--all"}, append([]string{"arm", "--step", "Path Remove=" + next.tree}, next.options()...)}
	for _, j := range jobs[:10] {
		commands = append(commands, append([]string{"run"}, j.options()...), append([]string{"run"}, j.options()...))
	}
	var all sync.WaitGroup
	for _, args := range commands {
		all.Go(func() {
			if out, err := w.command(args...).CombinedOutput(); err != nil {
				t.Errorf("%q: %v\n%s", args, err, out)
			}
		})
	}
	all.Wait()
	w.told()
	w.sweepsAll(append(jobs, next))
}
