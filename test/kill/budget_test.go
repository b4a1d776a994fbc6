package kill_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/residue"
)

// TestCase03_hugeTree: a tree that takes longer than there is time keeps no
// token alive and no lock held; the next sweep ends it. A busy machine may need
// more than a quarter of 200 ms for a token and a lock: it gets twice the time,
// and again, which is still too little for the tree.
func TestCase03_hugeTree(t *testing.T) {
	w, l := newWorld(t), newLeases(t, 0)
	var fs unix.Statfs_t
	if err := unix.Statfs(w.dir, &fs); err != nil {
		t.Fatal(err)
	}
	if fs.Type != unix.EXT4_SUPER_MAGIC {
		t.Logf("not ext4 here, but %#x", fs.Type)
	}
	const most = 800 * time.Millisecond
	for budget := 200 * time.Millisecond; ; budget *= 2 {
		j := w.newJob()
		j.arms()
		j.leaves()
		plant(t, j.tree)
		j.armsLeases(l, 1)
		began := time.Now()
		out := w.must(append([]string{"run", "--timeout", budget.String()}, j.options()...)...)
		took, tokens, locked := time.Since(began), l.left(j), there(j.lock)
		if tokens == 0 && !locked {
			if took > 2*time.Second {
				t.Errorf("took %v", took)
			}
			wantTreeOwed(t, j, out)
			w.sweepsAll([]job{j})
			return
		}
		if budget >= most {
			t.Fatalf("after %v %d tokens live, the lock is there: %v\n%s", budget, tokens, locked, out)
		}
	}
}

// plant makes 200,000 files in 1,000 folders.
func plant(t *testing.T, tree string) {
	t.Helper()
	const folders, files = 1000, 200
	for d := range folders {
		folder := filepath.Join(tree, fmt.Sprint(d))
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		for f := range files {
			if err := unix.Mknod(filepath.Join(folder, fmt.Sprint(f)), unix.S_IFREG|0o600, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func wantTreeOwed(t *testing.T, j job, out string) {
	t.Helper()
	if !there(j.tree) {
		t.Skip("this machine removes 200,000 files in no time")
	}
	debts := j.owed().Owed()
	if !slices.ContainsFunc(debts, func(d ledger.Debt) bool { return d.Spec.Value == j.tree && d.Reason == residue.Deadline }) {
		t.Errorf("owed is %v\n%s", debts, out)
	}
}

// TestCase06_intent: a name that was announced before the thing was there, and
// the job killed in between: found by its name and removed, or closed as never
// made.
func TestCase06_intent(t *testing.T) {
	w := newWorld(t)
	var jobs []job
	for _, made := range []bool{true, false} {
		j := w.newJob()
		start := ledger.Job{Witness: ledger.ByManager}
		start.UserBus, start.User, start.Start = true, &residue.Identity{}, time.Now().Add(-time.Minute)
		led, err := ledger.Root(w.state(), -1).Ledger(j.unit, j.invocation)
		if err == nil {
			err = led.Append(t.Context(), ledger.NewJob(start))
		}
		w.must(append([]string{"track", "path", j.tree}, j.options()...)...)
		// What track knows of the job's beginning comes from the manager; here
		// there is none that could tell.
		err = errors.Join(err, led.Append(t.Context(), ledger.NewJob(start)))
		if err != nil {
			t.Fatal(err)
		}
		if made {
			j.leaves()
			err = errors.Join(os.Remove(j.file), os.Remove(j.lock))
			time.Sleep(20 * time.Millisecond) // the next job does not come at once
		}
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, j)
	}
	w.sweepsAll(jobs)
}
