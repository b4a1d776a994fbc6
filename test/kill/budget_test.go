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
// token alive and no lock held; the next sweep ends it.
func TestCase03_hugeTree(t *testing.T) {
	const folders, files = 1000, 200
	w, l := newWorld(t), newLeases(t, 0)
	var fs unix.Statfs_t
	if err := unix.Statfs(w.dir, &fs); err != nil {
		t.Fatal(err)
	}
	if fs.Type != unix.EXT4_SUPER_MAGIC {
		t.Logf("not ext4 here, but %#x", fs.Type)
	}
	j := w.newJob()
	j.arms()
	j.leaves()
	for d := range folders {
		folder := filepath.Join(j.tree, fmt.Sprint(d))
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		for f := range files {
			if err := unix.Mknod(filepath.Join(folder, fmt.Sprint(f)), unix.S_IFREG|0o600, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	j.armsLeases(l, 1)
	began := time.Now()
	out := w.must(append([]string{"run", "--timeout", "200ms"}, j.options()...)...)
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("took %v", took)
	}
	if n := l.left(j); n > 0 || there(j.lock) {
		t.Errorf("%d tokens live, the lock is there: %v\n%s", n, there(j.lock), out)
	}
	if !there(j.tree) {
		t.Skip("this machine removes 200,000 files in 200 ms")
	}
	debts := j.owed().Owed()
	if !slices.ContainsFunc(debts, func(d ledger.Debt) bool { return d.Spec.Value == j.tree && d.Reason == residue.Deadline }) {
		t.Errorf("owed is %v\n%s", debts, out)
	}
	w.sweepsAll([]job{j})
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
