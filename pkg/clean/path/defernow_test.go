package path

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/residue"
)

// TestDeferNotHere: what can't be put off is removed at once.
func TestDeferNotHere(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, c *cleaner, r *residue.Residue, dir string){
		"nobody writes it down": func(_ *testing.T, c *cleaner, _ *residue.Residue, _ string) {
			c.later = func() bool { return false }
		},
		"a sweep":           func(_ *testing.T, c *cleaner, _ *residue.Residue, _ string) { c.later = nil },
		"no time of birth":  func(_ *testing.T, _ *cleaner, r *residue.Residue, _ string) { without(r, proofBirth) },
		"no mount point":    func(_ *testing.T, _ *cleaner, r *residue.Residue, _ string) { without(r, proofMount) },
		"mounts not told":   func(_ *testing.T, c *cleaner, _ *residue.Residue, _ string) { c.k.mountinfo = "/none" },
		"the name is taken": func(t *testing.T, _ *cleaner, _ *residue.Residue, dir string) { takeName(t, dir) },
		"a home is in it": func(t *testing.T, c *cleaner, _ *residue.Residue, dir string) {
			link := filepath.Dir(dir) + "/home"
			must(t, os.Symlink(dir, link))
			c.job.Homes = []string{link + "/sub"}
			must(t, os.Mkdir(dir+"/sub", 0o755))
		},
	} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			dir := build(t, top+"/job", "a/x", "b")
			c := puttingOff(t, running(), dir)
			r := find(t, c)[0]
			c.note(dir, must1(t, c, dir))
			prepare(t, c, &r, dir)
			err := c.Remove(context.Background(), r)
			if name == "a home is in it" {
				wants(t, err, residue.Retry, residue.Protected)
				there(t, dir+"/sub")
				gone(t, dir+"/a")
				return
			}
			must(t, err)
			gone(t, dir)
		})
	}
}

// must1 is what the cleaner sees of a path.
func must1(t *testing.T, c *cleaner, path string) facts {
	t.Helper()
	f, err := c.k.look(unix.AT_FDCWD, path)
	must(t, err)
	return f
}

func without(r *residue.Residue, key string) { delete(r.Proof, key) }

// takeName puts something where the tree would be moved to.
func takeName(t *testing.T, dir string) {
	t.Helper()
	f, err := running().look(unix.AT_FDCWD, dir)
	must(t, err)
	must(t, os.Mkdir(filepath.Dir(dir)+"/"+deferredOf(filepath.Base(dir), f.ino, f.btime), 0o755))
}

// TestDeferOnlyFolders: a file and a link go at once, and so does a tree of
// which something is excluded.
func TestDeferOnlyFolders(t *testing.T) {
	top := build(t, t.TempDir(), "file=x", "link->/etc", "tree/a", "tree/keep")
	for _, name := range []string{"file", "link"} {
		must(t, clean(puttingOff(t, running(), top+"/"+name)))
		gone(t, top+"/"+name)
	}
	must(t, clean(puttingOff(t, running(), top+"/tree", "Exclude="+top+"/tree/keep")))
	gone(t, top+"/tree/a")
	there(t, top+"/tree/keep")
	if now := asides(t, top); len(now) != 0 {
		t.Fatalf("aside stand %q", now)
	}
}

// TestDeferMounts: a rename would take along what is mounted in the tree.
func TestDeferMounts(t *testing.T) {
	kernels(t, func(t *testing.T, k kernel) {
		top := t.TempDir()
		dir := build(t, top+"/job", "a/x", "b/in/", "c/file")
		mountTmpfs(t, dir+"/b/in")
		build(t, dir+"/b/in", "kept")
		wants(t, clean(puttingOff(t, k, dir)), residue.Retry, residue.MountPoint)
		there(t, dir+"/b/in/kept")
		gone(t, dir+"/a")
		must(t, unix.Unmount(dir+"/b/in", 0))
		bind(t, dir, dir)
		wants(t, clean(puttingOff(t, k, dir)), residue.Retry, residue.MountPoint)
		there(t, dir)
		must(t, unix.Unmount(dir, 0))
		wants(t, clean(puttingOff(t, k, dir)), residue.Retry, residue.Deferred)
		gone(t, dir)
	})
}

// TestDeferNoRoom: on a file system that is nearly full, of bytes or of inodes,
// what was to be put off goes at once.
func TestDeferNoRoom(t *testing.T) {
	for what, options := range map[string]string{"bytes": "size=1m", "inodes": "size=64m,nr_inodes=100", "neither": "size=64m,nr_inodes=10000", "no limit": "size=0,nr_inodes=0"} {
		t.Run(what, func(t *testing.T) {
			needRoot(t)
			top := t.TempDir()
			if err := unix.Mount("tmpfs", top, "tmpfs", 0, options); err != nil {
				t.Skipf("can't mount here: %v", err)
			}
			defer func() { _ = unix.Unmount(top, unix.MNT_DETACH) }()
			dir := build(t, top+"/job", "a/x", "other/")
			must(t, os.WriteFile(top+"/bytes", make([]byte, 940<<10), 0o644))
			for i := range 88 {
				must(t, os.WriteFile(fmt.Sprintf("%s/%d", top, i), nil, 0o644))
			}
			err := clean(puttingOff(t, running(), dir, "Within="+top))
			gone(t, dir)
			if now := asides(t, top); what == "bytes" || what == "inodes" {
				must(t, err)
				if len(now) != 0 {
					t.Fatalf("aside stand %q", now)
				}
			} else {
				wants(t, err, residue.Retry, residue.Deferred)
			}
		})
	}
}

// TestDeferAsUser: who owns the tree may move it in a sticky folder; where the
// folder is not theirs to write to, the tree is emptied as ever.
func TestDeferAsUser(t *testing.T) {
	if drop(t) {
		return
	}
	top := t.TempDir()
	dir := build(t, top+"/sticky/job", "a/x")
	must(t, os.Chmod(top+"/sticky", 0o777|os.ModeSticky))
	must(t, os.Chmod(dir, 0))
	wants(t, clean(puttingOff(t, running(), dir)), residue.Retry, residue.Deferred)
	gone(t, dir)
	must(t, clean(sweeping(t, asides(t, top+"/sticky")[0])))
	dir = build(t, top+"/closed/job", "a/x")
	must(t, os.Chmod(top+"/closed", 0o555))
	defer os.Chmod(top+"/closed", 0o755)
	wants(t, clean(puttingOff(t, running(), dir)), residue.Retry, residue.Permission)
	there(t, dir)
	gone(t, dir+"/a")
}

// TestDeferIdle: a sweep deletes at the lowest priorities, and the threads that
// have them end with it.
func TestDeferIdle(t *testing.T) {
	dir := build(t, t.TempDir()+"/job", "a/x", "b/x")
	wants(t, clean(puttingOff(t, running(), dir)), residue.Retry, residue.Deferred)
	build(t, dir, "x")
	c := sweeping(t, dir)
	var nice, disk int
	c.probe.beforeRmdir = func(string) {
		nice, _ = unix.Getpriority(unix.PRIO_PROCESS, 0)
		class, _, _ := unix.Syscall(unix.SYS_IOPRIO_GET, ioprioWhoProcess, 0, 0)
		disk = int(class)
	}
	must(t, clean(c))
	if nice != 20-lowest || disk != ioprioIdle { // the call answers 20 less the nice value
		t.Errorf("nice %d, disk class %d", 20-nice, disk>>13)
	}
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		low := lowThreads(t)
		if low == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d threads keep the lowest priority", low)
		}
	}
}

// lowThreads counts this process's threads of the lowest priority. The first
// one does not end when it is thrown away, but nothing runs in it any more.
func lowThreads(t *testing.T) (low int) {
	t.Helper()
	threads, err := filepath.Glob("/proc/self/task/*/stat")
	must(t, err)
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if err != nil || strings.HasPrefix(string(text), fmt.Sprint(os.Getpid())+" ") {
			continue // it ended
		}
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if fields[16] == fmt.Sprint(lowest) { // the 19th of proc(5)
			low++
		}
	}
	return low
}
