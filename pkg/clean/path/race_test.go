package path

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/residue"
)

// The owner of a tree swaps its folders for links to a canary, while the tree
// is removed over and over.
func TestSwappedWhileWalking(t *testing.T) {
	kernels(t, func(t *testing.T, k kernel) {
		top := t.TempDir()
		canary := build(t, top+"/canary", "a/x=precious", "b/c/x=precious", "x=precious")
		before := digest(t, canary)
		dir := top + "/job"
		var stop atomic.Bool
		var attackers sync.WaitGroup
		for _, victim := range []string{"a", "b", "b/c", ""} {
			path := filepath.Join(dir, victim)
			attackers.Go(func() {
				for !stop.Load() {
					swap(filepath.Dir(path), filepath.Base(path), canary)
				}
			})
		}
		rounds := 0
		for end := time.Now().Add(700 * time.Millisecond); time.Now().Before(end); rounds++ {
			for _, e := range []string{"a", "b/c", "", "b"} {
				if fd := safeDir(filepath.Join(dir, e)); fd >= 0 {
					if file, err := unix.Openat(fd, "x", unix.O_CREAT|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o644); err == nil {
						unix.Close(file)
					}
					unix.Close(fd)
				}
			}
			for _, value := range []string{dir, dir + "/b/c", dir + "/*/x"} {
				_ = clean(with(t, k, residue.Job{Outside: rounds%2 == 0}, value))
			}
		}
		stop.Store(true)
		attackers.Wait()
		if digest(t, canary) != before {
			t.Fatal("the canary changed")
		}
		if rounds < 10 {
			t.Skipf("only %d rounds", rounds)
		}
	})
}

// The same at the worst moment: between the listing and the opening of a
// folder, and between the look at the matched folder and its opening.
func TestSwappedBeforeEntering(t *testing.T) {
	kernels(t, func(t *testing.T, k kernel) {
		top := t.TempDir()
		canary := build(t, top+"/canary", "sub/x=precious")
		before := digest(t, canary)
		dir := build(t, top+"/job", "link/x", "file/x", "gone/x", "stays/x")
		c := with(t, k, residue.Job{}, dir)
		c.probe.beforeEnter = func(path string) {
			if filepath.Base(path) == "stays" {
				return
			}
			must(t, os.Rename(path, top+"/moved-"+filepath.Base(path)))
			switch filepath.Base(path) {
			case "link":
				must(t, os.Symlink(canary, path))
			case "file":
				must(t, os.WriteFile(path, nil, 0o644))
			}
		}
		must(t, clean(c))
		gone(t, dir)
		there(t, top+"/moved-link/x")
		if digest(t, canary) != before {
			t.Fatal("the canary changed")
		}

		build(t, dir, "x")
		c = with(t, k, residue.Job{}, dir)
		target, err := c.locate(find(t, c)[0])
		must(t, err)
		defer target.close()
		for _, other := range []string{"link", "folder"} {
			must(t, os.RemoveAll(dir))
			if other == "link" {
				must(t, os.Symlink(canary, dir))
			} else {
				must(t, os.Mkdir(dir, 0o755))
			}
			if fd, err := c.openTop(target); err == nil {
				unix.Close(fd)
				t.Fatalf("opened a %s in place of the folder that was judged", other)
			}
		}
	})
}

// safeDir makes and opens a folder without ever going through a link, so that
// the test itself can't touch the canary. It is -1 when that fails.
func safeDir(path string) int {
	fd, err := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0)
	names, _ := split(path)
	for _, name := range names {
		if err != nil {
			return -1
		}
		_ = unix.Mkdirat(fd, name, 0o755)
		var next int
		next, err = unix.Openat(fd, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		unix.Close(fd)
		fd = next
	}
	if err != nil {
		return -1
	}
	return fd
}

// swap exchanges a folder for a link to the canary and back.
func swap(parent, name, canary string) {
	fd := safeDir(parent)
	if fd < 0 {
		return
	}
	defer unix.Close(fd)
	evil := name + ".evil"
	_ = unix.Symlinkat(canary, fd, evil)
	_ = unix.Renameat2(fd, evil, fd, name, unix.RENAME_EXCHANGE)
	_ = unix.Renameat2(fd, evil, fd, name, unix.RENAME_EXCHANGE)
	_ = unix.Unlinkat(fd, evil, 0)
}
