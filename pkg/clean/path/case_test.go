package path

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/residue"
)

func TestCase10_specialFiles(t *testing.T) {
	kernels(t, func(t *testing.T, k kernel) {
		dir := build(t, filepath.Join(t.TempDir(), "job"), "a/file")
		must(t, unix.Mkfifo(filepath.Join(dir, "a/fifo"), 0o600))
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		must(t, err)
		defer unix.Close(fd)
		must(t, unix.Bind(fd, &unix.SockaddrUnix{Name: filepath.Join(dir, "a/s")}))
		if os.Geteuid() == 0 {
			// A device that hangs or fails whoever opens it.
			must(t, unix.Mknod(filepath.Join(dir, "a/dev"), unix.S_IFCHR|0o600, int(unix.Mkdev(250, 77))))
		}
		must(t, clean(with(t, k, residue.Job{}, dir)))
		gone(t, dir)
	})
}

func TestCase10_fifoAsMatch(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	must(t, unix.Mkfifo(fifo, 0o600))
	must(t, clean(with(t, running(), residue.Job{}, fifo)))
	gone(t, fifo)
}

func TestCase15_links(t *testing.T) {
	kernels(t, func(t *testing.T, k kernel) {
		top := t.TempDir()
		canary := build(t, filepath.Join(top, "canary"), "file=precious", "sub/deep=precious")
		before := digest(t, canary)
		dir := build(t, filepath.Join(top, "job"), "x/folder->"+canary, "x/file->"+canary+"/file", "dangling->/nowhere", "loop->loop",
			"up->..", "x/rel->../../canary")
		must(t, clean(with(t, k, residue.Job{}, dir)))
		gone(t, dir)
		if digest(t, canary) != before {
			t.Fatal("the canary changed")
		}
	})
}

func TestCase15_matchedLink(t *testing.T) {
	kernels(t, func(t *testing.T, k kernel) {
		top := t.TempDir()
		canary := build(t, filepath.Join(top, "canary"), "file=precious")
		before := digest(t, canary)
		build(t, top, "job-1->"+canary, "job-2->"+canary+"/file", "job-3->/nowhere")
		must(t, clean(with(t, k, residue.Job{}, top+"/job-*")))
		for _, name := range []string{"job-1", "job-2", "job-3"} {
			gone(t, filepath.Join(top, name))
		}
		if digest(t, canary) != before {
			t.Fatal("the canary changed")
		}
	})
}

func TestCase15_linkOnTheWay(t *testing.T) {
	kernels(t, func(t *testing.T, k kernel) {
		top := t.TempDir()
		canary := build(t, filepath.Join(top, "canary"), "sub/file=precious")
		build(t, top, "job->"+canary)
		err := clean(with(t, k, residue.Job{}, top+"/job/sub"))
		wants(t, err, residue.Refused, residue.OutsideBase)
		if found := find(t, with(t, k, residue.Job{}, top+"/j*/sub")); len(found) != 0 {
			t.Fatalf("a wildcard followed a link: %v", found)
		}
		c := with(t, k, residue.Job{}, top+"/job/sub")
		err = c.Remove(context.Background(), residue.Residue{Type: typePath, Ref: top + "/job/sub"})
		wants(t, err, residue.Refused, residue.OutsideBase)
		there(t, filepath.Join(canary, "sub/file"))
	})
}

func TestCase16_trailingSlash(t *testing.T) {
	top := t.TempDir()
	canary := build(t, filepath.Join(top, "canary"), "file=precious")
	build(t, top, "link->"+canary)
	before := digest(t, canary)
	wants(t, clean(with(t, running(), residue.Job{}, top+"/link/")), residue.Refused, residue.Protected)
	there(t, top+"/link")
	if found := find(t, with(t, running(), residue.Job{}, top+"/lin*/")); len(found) != 0 {
		t.Fatalf("a folder pattern took a link: %v", found)
	}
	c := with(t, running(), residue.Job{}, top+"/link")
	r := find(t, c)[0]
	r.Ref += "/"
	wants(t, c.Remove(context.Background(), r), residue.Refused, residue.Protected)
	there(t, top+"/link")
	if digest(t, canary) != before {
		t.Fatal("the canary changed")
	}
	build(t, top, "folder/x")
	must(t, clean(with(t, running(), residue.Job{}, top+"/folder/")))
	gone(t, top+"/folder")
}

func TestCase17_refusals(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home/alice")
	job := residue.Job{Homes: []string{home, "/"}, Bases: []string{"/run/batch", "/run/deep/er", "/etc", "/"}}
	for value, why := range map[string]residue.Reason{
		"": residue.Protected, "/": residue.Protected, ".": residue.Protected, "..": residue.Protected, "//": residue.Protected,
		"/tmp/x/..": residue.Protected, "/tmp/./x": residue.Protected, "/../etc/x": residue.Protected, `/tmp/x/\.\.`: residue.Protected,
		"tmp/x": residue.Protected, "~/x": residue.Protected, "/tmp/\x00": residue.Protected,
		"/tmp": residue.Protected, "/tmp/": residue.Protected, "/tmp//": residue.Protected, "/run": residue.Protected,
		"/var/tmp": residue.Protected, "/var": residue.Protected, "/usr": residue.Protected, "/etc": residue.Protected,
		"/home": residue.Protected, "/home/alice": residue.Protected, "/root": residue.Protected, home: residue.Protected,
		filepath.Dir(home): residue.Protected, "/run/batch": residue.Protected, "/run/deep": residue.Protected, "/run/systemd": residue.Protected,
		"/run/systemd/x": residue.Protected, "/run/user": residue.Protected, "/run/user/1000": residue.Protected,
		"/run/user/1000/x": residue.Protected, "/run/dbus/x": residue.Protected, "/run/lock": residue.Protected,
		"/tmp/.X11-unix": residue.Protected, "/tmp/systemd-private-abc": residue.Protected, "/tmp/systemd-private-abc/tmp/x": residue.Protected,
		"/tmp/*": residue.Protected, "/tmp/?*": residue.Protected, "/run/[!a]*": residue.Protected, "/*": residue.OutsideBase,
		"/*/x": residue.OutsideBase, "/t*p/x": residue.OutsideBase, "/usr/bin/x": residue.Protected, "/proc/1/fd": residue.Protected,
		"/etc/passwd": residue.Protected, "/home/alice/x": residue.OutsideBase, "/tmpx/y": residue.OutsideBase,
		"/tmp/[x": residue.Protected, `/tmp/x\`: residue.Protected, "/tmp/[[:digit:]]": residue.Protected,
	} {
		_, err := try(job, value)
		if err == nil {
			t.Errorf("%q was accepted", value)
			continue
		}
		if e := residue.AsError(err); e.Class != residue.Refused || e.Reason != why {
			t.Errorf("%q: %v, want reason %q", value, err, why)
		}
	}
	for _, within := range []string{"", "/", "x", "/etc", "/etc/x", "/usr", "/usr/lib", "/home", "/home/bob", home, "/var/lib", "/proc", "/sys/x", "/dev", "/dev/disk", "/run/systemd", "/run/systemd/x", "/tmp/.."} {
		_, err := try(residue.Job{Homes: []string{home}}, "/tmp/job-x", "Within="+within)
		if err == nil {
			t.Errorf("Within=%q was accepted", within)
		} else {
			wants(t, err, residue.Refused, residue.Protected)
		}
	}
	for value, within := range map[string]string{"/home/bob/build/x": "/home/bob/build", "/tmp/job": "/tmp", "/dev/shm/job": "/dev/shm", "/run/user/1000/job": "/run/user/1000", "/srv/a/b": "/srv/a", "/run/lock/job": "/run", "/tmp/a*": "/tmp"} {
		if _, err := try(residue.Job{}, value, "Within="+within); err != nil {
			t.Errorf("%q within %q: %v", value, within, err)
		}
	}
}

func TestCase24_modes(t *testing.T) {
	if drop(t) {
		return
	}
	kernels(t, func(t *testing.T, k kernel) {
		top := t.TempDir()
		build(t, top, "outside=keep")
		must(t, os.Chmod(top+"/outside", 0o444))
		dir := build(t, top+"/job", "1/2/3/4/file", "zero/file", "link->"+top+"/outside", "1/2/link->../../../outside")
		must(t, os.Chmod(dir+"/1/2/3/4/file", 0o444))
		for _, d := range []string{"/1/2/3/4", "/1/2/3", "/1/2", "/1"} {
			must(t, os.Chmod(dir+d, 0o555))
		}
		must(t, os.Chmod(dir+"/zero", 0))
		must(t, os.Chmod(dir, 0o555))
		must(t, clean(with(t, k, residue.Job{}, dir)))
		gone(t, dir)
		info, err := os.Stat(top + "/outside")
		must(t, err)
		if info.Mode().Perm() != 0o444 {
			t.Fatalf("the outside mode is %v", info.Mode())
		}
		zero := build(t, top+"/zero", "sub/")
		must(t, os.Chmod(zero, 0))
		must(t, clean(with(t, k, residue.Job{}, zero)))
		gone(t, zero)
	})
}

func TestCase25_manyThatStay(t *testing.T) {
	needRoot(t)
	dir := build(t, filepath.Join(t.TempDir(), "job"), "good/file")
	for i := range 1100 {
		build(t, dir, fmt.Sprintf("bad%d/x%d", i%2, i))
	}
	for i := range 2 {
		lock(t, fmt.Sprintf("%s/bad%d", dir, i))
	}
	begin := time.Now()
	e := wants(t, clean(with(t, running(), residue.Job{}, dir)), residue.Retry, residue.Immutable)
	if !strings.Contains(e.Error(), "1100 stay") {
		t.Fatalf("the count is not told: %v", e)
	}
	if time.Since(begin) > 10*time.Second || len(e.Error()) > 16<<10 {
		t.Fatalf("took %v, %d bytes", time.Since(begin), len(e.Error()))
	}
	gone(t, dir+"/good")
}

func TestCase26_otherOwner(t *testing.T) {
	if os.Getenv(asNobody) == "" {
		needRoot(t)
		dir := build(t, "/tmp/path-case26", "mine/file", "theirs/file")
		defer os.RemoveAll(dir)
		must(t, os.Chmod(dir+"/theirs/file", 0o640))
		for _, p := range []string{"", "/mine", "/mine/file"} {
			must(t, os.Chown(dir+p, 65534, 65534))
		}
		drop(t)
		gone(t, dir+"/mine")
		there(t, dir+"/theirs/file")
		must(t, clean(with(t, running(), residue.Job{}, dir)))
		gone(t, dir)
		return
	}
	e := wants(t, clean(with(t, running(), residue.Job{}, "/tmp/path-case26")), residue.Retry, residue.Permission)
	if !strings.Contains(e.Error(), "uid 0, mode 0640") {
		t.Fatalf("owner and mode are not told: %v", e)
	}
}

func TestCase27_immutable(t *testing.T) {
	needRoot(t)
	dir := build(t, filepath.Join(t.TempDir(), "job"), "a/locked", "a/free", "b/free")
	lock(t, dir+"/a/locked")
	e := wants(t, clean(with(t, running(), residue.Job{}, dir)), residue.Retry, residue.Immutable)
	if !strings.Contains(e.Error(), `a/locked`) {
		t.Fatalf("no example in %v", e)
	}
	gone(t, dir+"/a/free")
	gone(t, dir+"/b")
	one := with(t, running(), residue.Job{}, dir+"/a/locked")
	wants(t, clean(one), residue.Retry, residue.Immutable)
}

func TestCase28_mounts(t *testing.T) {
	kernels(t, func(t *testing.T, k kernel) {
		dir := build(t, filepath.Join(t.TempDir(), "job"), "a/m/", "b/c/file", "a/file")
		mountTmpfs(t, dir+"/a/m")
		build(t, dir+"/a/m", "inside=precious")
		wants(t, clean(with(t, k, residue.Job{}, dir)), residue.Retry, residue.MountPoint)
		there(t, dir+"/a/m/inside")
		gone(t, dir+"/a/file")
		gone(t, dir+"/b")
		wants(t, clean(with(t, k, residue.Job{}, dir+"/a/m")), residue.Retry, residue.MountPoint)
		if _, err := clean2(with(t, k, residue.Job{}, dir+"/a/m/inside")); err == nil {
			t.Fatal("a mount below a base was crossed")
		}
		there(t, dir+"/a/m/inside")

		ours := with(t, k, residue.Job{}, dir+"/a/m", "Selector=Unmount")
		r := find(t, ours)
		if len(r) != 1 || r[0].Type != typeMount {
			t.Fatalf("found %v", r)
		}
		must(t, ours.Remove(context.Background(), r[0]))
		wants(t, ours.Remove(context.Background(), r[0]), residue.Gone, "absent")
		if again := find(t, ours); len(again) != 0 {
			t.Fatalf("found %v after it was unmounted", again)
		}
		must(t, clean(with(t, k, residue.Job{}, dir)))
		gone(t, dir)
	})
}

func clean2(c *cleaner) (int, error) {
	found, err := c.Find(context.Background())
	return len(found), err
}

func TestCase28_bindMounts(t *testing.T) {
	kernels(t, func(t *testing.T, k kernel) {
		top := t.TempDir()
		canary := build(t, top+"/canary", "file=precious")
		dir := build(t, top+"/job", "m/", "f", "sub/x")
		bind(t, canary, dir+"/m")
		bind(t, canary+"/file", dir+"/f")
		before := digest(t, canary)
		wants(t, clean(with(t, k, residue.Job{}, dir)), residue.Retry, residue.MountPoint)
		gone(t, dir+"/sub")
		if digest(t, canary) != before {
			t.Fatal("a bind mount of the same file system was crossed")
		}
	})
}

func TestCase28_busyMount(t *testing.T) {
	dir := t.TempDir() + "/m"
	mountTmpfs(t, dir)
	build(t, dir, "file")
	hold, err := os.Open(dir + "/file")
	must(t, err)
	defer hold.Close()
	wants(t, clean(with(t, running(), residue.Job{}, dir, "Selector=Unmount")), residue.Retry, residue.InUse)
	must(t, clean(with(t, running(), residue.Job{}, dir, "Selector=Unmount", "Lazy=yes")))
	gone(t, dir+"/file")
}

func TestCase28_folderOfAMountThatWent(t *testing.T) {
	dir := t.TempDir() + "/m"
	mountTmpfs(t, dir)
	c := with(t, running(), residue.Job{}, dir)
	r := find(t, c)[0]
	must(t, unix.Unmount(dir, 0))
	build(t, dir, "was-covered")
	wants(t, c.Remove(context.Background(), r), residue.Retry, residue.Changed)
	must(t, os.Remove(dir+"/was-covered"))
	must(t, c.Remove(context.Background(), r))
	gone(t, dir)
}

func TestCase29_writer(t *testing.T) {
	dir := build(t, filepath.Join(t.TempDir(), "job"), "sub/a", "other/x")
	c := with(t, running(), residue.Job{}, dir)
	tries := 0
	c.probe.beforeRmdir = func(path string) {
		if strings.HasSuffix(path, "/sub") {
			tries++
			build(t, path, fmt.Sprintf("late-%d", tries))
		}
	}
	wants(t, clean(c), residue.Retry, residue.StillWritten)
	if tries != passes {
		t.Fatalf("%d passes, want %d", tries, passes)
	}
	gone(t, dir+"/other")
	c.probe.beforeRmdir = nil
	must(t, clean(c))
	gone(t, dir)
}

func TestCase42_madeAgain(t *testing.T) {
	top := t.TempDir()
	dir := build(t, top+"/job", "x")
	c := with(t, running(), residue.Job{}, dir)
	r := find(t, c)[0]
	if r.Proof[proofBirth] == "" {
		t.Skip("the file system keeps no birth time")
	}
	for range 50 { // ext4 gives the inode out again at once
		must(t, os.RemoveAll(dir))
		build(t, dir, "somebody else's")
	}
	wants(t, c.Remove(context.Background(), r), residue.Lost, residue.Changed)
	there(t, dir+"/somebody else's")

	now := find(t, c)[0].Proof
	now[proofBirth] = r.Proof[proofBirth] // same device and inode, another birth
	wants(t, c.Remove(context.Background(), residue.Residue{Type: typePath, Ref: dir, Proof: now}), residue.Lost, residue.Changed)
	tracked, err := newCleaner(residue.Spec{Tracked: &residue.Residue{Type: typePath, Ref: dir, Proof: now}}, residue.Deps{})
	must(t, err)
	found, err := tracked.Find(context.Background())
	wants(t, err, residue.Lost, residue.Changed)
	if len(found) != 0 {
		t.Fatal("found what is not ours")
	}
	there(t, dir+"/somebody else's")
}

// TestEarlierInvocation: when an earlier invocation is settled, what its pattern
// names is left to the later one that made it.
func TestEarlierInvocation(t *testing.T) {
	dir := build(t, filepath.Join(t.TempDir(), "job"), "x")
	born := find(t, with(t, running(), residue.Job{}, dir))[0].Proof[proofBirth]
	at, err := time.Parse(time.RFC3339Nano, born)
	if err != nil {
		t.Skip("the file system keeps no birth time")
	}
	for began, found := range map[time.Time]int{at.Add(-time.Second): 0, at.Add(time.Second): 1} {
		if got := find(t, with(t, running(), residue.Job{End: began}, dir)); len(got) != found {
			t.Errorf("next invocation at %v, born at %v: found %v", began, at, got)
		}
	}
	// So close to the end of the job nobody can tell: it is owed, not dropped.
	found, err := with(t, running(), residue.Job{End: at}, dir).Find(context.Background())
	wants(t, err, residue.Retry, residue.Changed)
	if len(found) != 0 {
		t.Errorf("found %v", found)
	}
}

func TestCase45_privateTmp(t *testing.T) {
	dir := build(t, filepath.Join(t.TempDir(), "job"), "somebody else's")
	job := residue.Job{Outside: true, Sandbox: []residue.Hidden{{Path: "/tmp", How: residue.Private}}}
	c := with(t, running(), job, dir)
	if found := find(t, c); len(found) != 0 {
		t.Fatalf("found %v", found)
	}
	inside := with(t, running(), residue.Job{Sandbox: job.Sandbox}, dir)
	r := find(t, inside)
	if !slices.Equal(refs(r), []string{dir}) {
		t.Fatalf("inside found %v", r)
	}
	wants(t, c.Remove(context.Background(), r[0]), residue.Gone, "absent")
	there(t, dir+"/somebody else's")

	for _, how := range []residue.HiddenHow{residue.Elsewhere, residue.Masked} {
		job.Sandbox[0].How = how
		out := with(t, running(), job, dir)
		found, err := out.Find(context.Background())
		wants(t, err, residue.Retry, residue.Changed)
		if len(found) != 0 {
			t.Fatalf("%s: found %v", how, found)
		}
		forged := r[0]
		forged.Proof = map[string]string{proofDev: "1", proofIno: "2", proofKind: "dir", proofBirth: "2001-01-01T00:00:00Z"}
		wants(t, out.Remove(context.Background(), forged), residue.Retry, residue.Changed)
		wants(t, out.Remove(context.Background(), residue.Residue{Type: typePath, Ref: dir}), residue.Retry, residue.Changed)
		there(t, dir+"/somebody else's")
	}
	must(t, with(t, running(), job, dir).Remove(context.Background(), r[0]))
	gone(t, dir)
}

// lock makes a file immutable until the test ends.
func lock(t *testing.T, path string) {
	t.Helper()
	const immutable = 0x10 // FS_IMMUTABLE_FL
	set := func(on bool) error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		flags, err := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
		if err != nil {
			return err
		}
		flags &^= immutable
		if on {
			flags |= immutable
		}
		return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags)
	}
	if err := set(true); err != nil {
		t.Skipf("no immutable files here: %v", err)
	}
	t.Cleanup(func() {
		if err := set(false); err != nil {
			t.Errorf("%s stays immutable: %v", path, err)
		}
	})
}
