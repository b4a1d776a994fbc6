package path

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/residue"
)

// The owner of a tree swaps it, and whatever stands aside, for links to a
// canary, while the tree is put off and deleted over and over.
func TestDeferSwappedAllTheTime(t *testing.T) {
	kernels(t, func(t *testing.T, k kernel) {
		top := t.TempDir()
		canary := build(t, top+"/canary", "a/x=precious", "x=precious")
		before := digest(t, canary)
		dir := top + "/place/job"
		must(t, os.Mkdir(filepath.Dir(dir), 0o755))
		var stop atomic.Bool
		var attackers sync.WaitGroup
		attackers.Go(func() {
			for !stop.Load() {
				swap(filepath.Dir(dir), "job", canary)
			}
		})
		attackers.Go(func() {
			for !stop.Load() {
				names, _ := filepath.Glob(filepath.Dir(dir) + "/" + asidePrefix + "*")
				for _, name := range names {
					swap(filepath.Dir(dir), filepath.Base(name), canary)
				}
			}
		})
		moved, deleted := 0, 0
		for began := time.Now(); time.Since(began) < 500*time.Millisecond || moved*deleted == 0 && time.Since(began) < 20*time.Second; {
			fillSafely(dir)
			c := puttingOff(t, k, dir)
			found, _ := c.Find(context.Background())
			for _, r := range found {
				if e := residue.AsError(c.Remove(context.Background(), r)); e != nil && e.Reason == residue.Deferred {
					moved++
					if sweeping(t, dir).Remove(context.Background(), r) == nil {
						deleted++
					}
				}
			}
		}
		stop.Store(true)
		attackers.Wait()
		if digest(t, canary) != before {
			t.Fatal("the canary changed")
		}
		if moved == 0 || deleted == 0 {
			t.Errorf("moved %d, deleted %d", moved, deleted)
		}
	})
}

// fillSafely makes a file in a folder without going through a link.
func fillSafely(dir string) {
	fd := safeDir(dir)
	if fd < 0 {
		return
	}
	defer unix.Close(fd)
	if file, err := unix.Openat(fd, "x", unix.O_CREAT|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o644); err == nil {
		unix.Close(file)
	}
}
