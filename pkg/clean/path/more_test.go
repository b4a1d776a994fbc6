package path

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/residue"
)

func TestCase13_gone(t *testing.T) {
	kernels(t, func(t *testing.T, k kernel) {
		top := t.TempDir()
		for _, value := range []string{"/job", "/parent/job", "/grand/parent/job", "/parent/job-*", "/g*/parent/job"} {
			if found := find(t, with(t, k, residue.Job{}, top+value)); len(found) != 0 {
				t.Fatalf("%s: found %v", value, found)
			}
			if strings.Contains(value, "*") {
				continue
			}
			err := with(t, k, residue.Job{}, top+value).Remove(context.Background(), residue.Residue{Type: typePath, Ref: top + value})
			wants(t, err, residue.Gone, "absent")
		}
		build(t, top, "file")
		if found := find(t, with(t, k, residue.Job{}, top+"/file/job")); len(found) != 0 {
			t.Fatalf("below a file: found %v", found)
		}
	})
}

func TestCase13_unreadable(t *testing.T) {
	if drop(t) {
		return
	}
	kernels(t, func(t *testing.T, k kernel) {
		top := build(t, t.TempDir(), "parent/job/x", "listed/job-1/x")
		must(t, os.Chmod(top+"/parent", 0))
		must(t, os.Chmod(top+"/listed", 0o111))
		defer os.Chmod(top+"/parent", 0o755)
		defer os.Chmod(top+"/listed", 0o755)
		for _, value := range []string{"/parent/job", "/parent/none", "/parent/job/x", "/listed/job-*"} {
			found, err := with(t, k, residue.Job{}, top+value).Find(context.Background())
			wants(t, err, residue.Retry, residue.Permission)
			if len(found) != 0 {
				t.Fatalf("%s: found %v", value, found)
			}
		}
		err := with(t, k, residue.Job{}, top+"/parent/job").Remove(context.Background(), residue.Residue{Type: typePath, Ref: top + "/parent/job"})
		wants(t, err, residue.Retry, residue.Permission)
	})
}

func TestCase13_notMounted(t *testing.T) {
	kernels(t, func(t *testing.T, k kernel) {
		top := t.TempDir()
		mountTmpfs(t, top+"/data")
		value := top + "/data/jobs/job-1"
		opts := "Within=" + top + "/data"
		c := with(t, k, residue.Job{}, value, opts)
		facts, err := c.Prepare(context.Background())
		must(t, err)
		if facts[proofMount] != top+"/data" {
			t.Fatalf("recorded %v", facts)
		}
		build(t, value, "x")
		r := find(t, c)[0]

		c.facts = facts
		must(t, os.RemoveAll(value))
		if found := find(t, c); len(found) != 0 {
			t.Fatalf("found %v", found)
		}
		wants(t, c.Remove(context.Background(), r), residue.Gone, "absent")

		must(t, unix.Unmount(top+"/data", 0))
		_, err = c.Find(context.Background())
		wants(t, err, residue.Retry, residue.Changed)
		wants(t, c.Remove(context.Background(), r), residue.Retry, residue.Changed)
		must(t, os.Remove(top+"/data"))
		_, err = c.Find(context.Background())
		wants(t, err, residue.Retry, residue.Changed)
	})
}

func TestCase13_otherFileSystem(t *testing.T) {
	was := map[string]string{proofMount: "/data", factType: "ef53", factID: "1", proofBoot: "a"}
	for name, c := range map[string]struct {
		change map[string]string
		owed   bool
	}{
		"the same":                 {nil, false},
		"another type":             {map[string]string{factType: "1021994"}, true},
		"another disk":             {map[string]string{factID: "2"}, true},
		"another number next boot": {map[string]string{factID: "2", proofBoot: "b"}, false},
		"another mount":            {map[string]string{proofMount: "/"}, true},
	} {
		now := map[string]string{}
		for key, value := range was {
			now[key] = value
		}
		for key, value := range c.change {
			now[key] = value
		}
		if err := sameFileSystem("/data/x", was, now); (err != nil) != c.owed {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCase13_hidden(t *testing.T) {
	top := t.TempDir()
	job := residue.Job{Sandbox: []residue.Hidden{{Path: top, How: residue.Masked}}}
	_, err := with(t, running(), job, top+"/home/build", "Within="+top+"/home").Find(context.Background())
	wants(t, err, residue.Retry, residue.Permission)
	_, err = with(t, running(), job, top+"/job-*").Find(context.Background())
	wants(t, err, residue.Retry, residue.Permission)
}

func TestCase13_fstab(t *testing.T) {
	top := t.TempDir()
	build(t, top, "data/", "fstab=# comment\nserver:/x "+top+"/data nfs defaults 0 0\nother "+top+"/never nfs noauto 0 0\n", "never/")
	c := with(t, running(), residue.Job{}, top+"/data/job")
	c.k.fstab = top + "/fstab"
	_, err := c.Find(context.Background())
	wants(t, err, residue.Retry, residue.Changed)
	c = with(t, running(), residue.Job{}, top+"/never/job")
	c.k.fstab = top + "/fstab"
	find(t, c)
}

func TestExclude(t *testing.T) {
	kernels(t, func(t *testing.T, k kernel) {
		top := t.TempDir()
		dir := build(t, top+"/job", "keep/a/b=1", "x/keep/deep/f=1", "x/go/f", "y/.hidden/f=1", "y/f", "z/f", "keepnot/f")
		c := with(t, k, residue.Job{}, dir, "Exclude="+dir+"/keep/", "Exclude="+dir+"/x/k*", "Exclude="+dir+"/y/*")
		must(t, clean(c))
		for _, p := range []string{"/keep/a/b", "/x/keep/deep/f", "/y/.hidden/f", "/y/f"} {
			there(t, dir+p)
		}
		for _, p := range []string{"/x/go", "/z", "/keepnot"} {
			gone(t, dir+p)
		}
		wants(t, clean(c), residue.Gone, "absent")
		all := with(t, k, residue.Job{}, top+"/jo*", "Exclude="+dir)
		if found := find(t, all); len(found) != 0 {
			t.Fatalf("found %v", found)
		}
		r := find(t, with(t, k, residue.Job{}, dir))[0]
		wants(t, all.Remove(context.Background(), r), residue.Refused, residue.Protected)
	})
}

func TestGlobFinds(t *testing.T) {
	top := build(t, t.TempDir(), "job-2/x", "job-10", "job-1/x", ".job-3/x", "other/x", "job-1/y", "[a]/x", "a/x")
	for pattern, want := range map[string][]string{
		"/job-*":     {"/job-1", "/job-10", "/job-2"},
		"/job-*/":    {"/job-1", "/job-2"},
		"/job-?/x":   {"/job-1/x", "/job-2/x"},
		"/*/x":       {"/[a]/x", "/a/x", "/job-1/x", "/job-2/x", "/other/x"},
		"/.j*":       {"/.job-3"},
		"/[!j]*/x":   {"/[a]/x", "/a/x", "/other/x"},
		`/\[a\]`:     {"/[a]"},
		"/[[]a]/x":   {"/[a]/x"},
		"/job-1//x":  {"/job-1/x"},
		"/none-*":    {},
		"/job-10/*":  {},
		"/job-*/[y]": {"/job-1/y"},
	} {
		found, err := with(t, running(), residue.Job{}, top+pattern).Find(context.Background())
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
		}
		got := refs(found)
		for i := range got {
			got[i] = strings.TrimPrefix(got[i], top)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: found %q, want %q", pattern, got, want)
		}
	}
}

func TestBaseThroughLinks(t *testing.T) {
	needRoot(t)
	kernels(t, func(t *testing.T, k kernel) {
		top := build(t, t.TempDir(), "private/unit/job/x", "root/unit->../private/unit", "theirs/", "etc->/etc")
		must(t, os.Symlink("../private/unit", top+"/theirs/unit"))
		must(t, os.Lchown(top+"/theirs/unit", 65534, 65534))
		c := with(t, k, residue.Job{Bases: []string{top + "/theirs/unit"}}, top+"/theirs/unit/job")
		wants(t, clean(c), residue.Refused, residue.OutsideBase)
		there(t, top+"/private/unit/job/x")

		c = with(t, k, residue.Job{}, top+"/etc/x", "Within="+top+"/etc")
		wants(t, clean(c), residue.Refused, residue.Protected)

		job := residue.Job{Bases: []string{top + "/root/unit"}}
		kept := with(t, k, job, top+"/root/unit/job", "Exclude="+top+"/private/unit/job/x")
		must(t, clean2err(kept))
		there(t, top+"/private/unit/job/x")

		must(t, clean(with(t, k, job, top+"/root/unit/job")))
		gone(t, top+"/private/unit/job")
		there(t, top+"/private/unit")

		build(t, top, "private/unit/job/x")
		must(t, os.Chmod(top+"/root", 0o777)) // anybody could have put the link there
		wants(t, clean(with(t, k, job, top+"/root/unit/job")), residue.Refused, residue.OutsideBase)
	})
}

// clean2err is clean for a tree of which everything may be excluded.
func clean2err(c *cleaner) error {
	err := clean(c)
	if errors.Is(err, residue.ErrGone) {
		return nil
	}
	return err
}

func TestHomeUnderAnotherName(t *testing.T) {
	top := build(t, t.TempDir(), "data/users/alice/mail=precious", "data/users/x", "home/alice->../data/users/alice")
	job := residue.Job{Homes: []string{top + "/home/alice"}}
	wants(t, clean(with(t, running(), job, top+"/data/users/alice")), residue.Refused, residue.Protected)
	wants(t, clean(with(t, running(), job, top+"/data")), residue.Retry, residue.Protected)
	there(t, top+"/data/users/alice/mail")
	gone(t, top+"/data/users/x")
}

func TestDeepTree(t *testing.T) {
	top, levels := "/dev/shm", 100_000
	var st unix.Statfs_t
	if err := unix.Statfs(top, &st); err != nil || st.Type != unix.TMPFS_MAGIC {
		top, levels = t.TempDir(), 3_000 // a disk takes its time
	}
	kernels(t, func(t *testing.T, k kernel) {
		dir := build(t, fmt.Sprintf("%s/path-deep-%d", top, os.Getpid()), "x")
		// RemoveAll of package os runs out of descriptors here.
		t.Cleanup(func() { _ = exec.Command("rm", "-rf", dir).Run() })
		fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		must(t, err)
		for range levels {
			must(t, unix.Mkdirat(fd, "d", 0o755))
			next, err := unix.Openat(fd, "d", unix.O_RDONLY|unix.O_DIRECTORY, 0)
			must(t, err)
			unix.Close(fd)
			fd = next
		}
		unix.Close(fd)
		before := openFiles(t)
		most := 0
		c := with(t, k, residue.Job{}, dir, "Within=/dev/shm")
		seen := 0
		var mu sync.Mutex
		c.probe.beforeRmdir = func(string) {
			mu.Lock()
			defer mu.Unlock()
			if seen++; seen%1000 == 1 {
				most = max(most, openFiles(t))
			}
		}
		must(t, clean(c))
		gone(t, dir)
		if most-before > 400 {
			t.Fatalf("%d descriptors were open", most-before)
		}
		if now := openFiles(t); now > before+2 {
			t.Fatalf("%d descriptors leak", now-before)
		}
	})
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(list)
}

func TestDeadlineAndCancel(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "job")
	for i := range 200 {
		build(t, dir, fmt.Sprintf("d%d/x", i))
	}
	c := with(t, running(), residue.Job{}, dir)
	r := find(t, c)[0]
	ctx, cancel := context.WithCancel(context.Background())
	var once sync.Once
	c.probe.beforeRmdir = func(string) { once.Do(cancel) }
	wants(t, c.Remove(ctx, r), residue.Retry, residue.Cancelled)
	there(t, dir)
	late, stop := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer stop()
	wants(t, c.Remove(late, r), residue.Retry, residue.Deadline)
	_, err := c.Find(late)
	wants(t, err, residue.Retry, residue.Deadline)
	must(t, c.Remove(context.Background(), r))
	gone(t, dir)
}

func TestAside(t *testing.T) {
	top := build(t, t.TempDir(), "job-1/a/x", "job-1/b/x")
	dir := top + "/job-1"
	c := with(t, running(), residue.Job{Outside: true}, top+"/job-*")
	r := find(t, c)[0]
	ctx, cancel := context.WithCancel(context.Background())
	var once sync.Once
	c.probe.beforeRmdir = func(string) { once.Do(cancel) }
	wants(t, c.Remove(ctx, r), residue.Retry, residue.Cancelled)
	gone(t, dir)
	there(t, top+"/"+asideOf("job-1"))
	build(t, dir, "of the next run")
	found := find(t, c)
	if !slices.Equal(refs(found), []string{dir, dir}) {
		t.Fatalf("found %v", found)
	}
	c.probe.beforeRmdir = nil
	must(t, c.Remove(context.Background(), r))
	gone(t, top+"/"+asideOf("job-1"))
	there(t, dir+"/of the next run")
	wants(t, c.Remove(context.Background(), r), residue.Lost, residue.Changed)
}

func TestTracked(t *testing.T) {
	top := t.TempDir()
	start := time.Now()
	intent := residue.Residue{Type: typePath, Ref: top + "/job[1]"}
	open := func(job residue.Job, r residue.Residue) *cleaner {
		c, err := newCleaner(residue.Spec{Kind: "path", Selector: "Remove", Tracked: &r}, residue.Deps{Job: job})
		must(t, err)
		return c
	}
	job := residue.Job{Start: start}
	proved, err := open(job, intent).Prove(context.Background())
	must(t, err)
	if len(proved.Proof) != 0 {
		t.Fatalf("proof of nothing: %v", proved)
	}
	build(t, top, "job[1]/x", "job1/x")
	if proved, err = open(job, intent).Prove(context.Background()); err != nil || len(proved.Proof) == 0 {
		t.Fatalf("proved %v, %v", proved, err)
	}
	if proved.Proof[proofBirth] == "" {
		t.Skip("the file system keeps no birth time")
	}

	late := open(residue.Job{Start: time.Now().Add(time.Minute)}, intent)
	_, err = late.Find(context.Background())
	wants(t, err, residue.Lost, residue.Changed)
	early := open(residue.Job{Start: start.Add(-time.Hour), End: start.Add(-time.Minute)}, intent)
	_, err = early.Find(context.Background())
	wants(t, err, residue.Lost, residue.Changed)
	_, err = open(residue.Job{}, intent).Find(context.Background())
	wants(t, err, residue.Retry, residue.Changed)
	wants(t, late.Remove(context.Background(), intent), residue.Lost, residue.Changed)

	found := find(t, open(job, intent))
	if len(found) != 1 || len(found[0].Proof) == 0 {
		t.Fatalf("found %v", found)
	}
	must(t, os.Rename(top+"/job[1]", top+"/aside"))
	build(t, top, "job[1]/y")
	c := open(job, proved)
	_, err = c.Find(context.Background())
	wants(t, err, residue.Lost, residue.Changed)
	must(t, os.RemoveAll(top+"/job[1]"))
	must(t, os.Rename(top+"/aside", top+"/job[1]"))
	if found := find(t, c); len(found) != 1 || found[0].ID != proved.ID {
		t.Fatalf("found %v, want %v", found, proved)
	}
	must(t, c.Remove(context.Background(), proved))
	gone(t, top+"/job[1]")
	there(t, top+"/job1/x")
	if found := find(t, c); len(found) != 0 {
		t.Fatalf("found %v", found)
	}
	if _, err := newCleaner(residue.Spec{Tracked: &residue.Residue{Type: typePath, Ref: "/etc/passwd"}}, residue.Deps{}); err == nil {
		t.Fatal("a tracked path outside of the bases was accepted")
	}
}

func TestProofAcrossBoots(t *testing.T) {
	top := build(t, t.TempDir(), "job/x")
	c := with(t, running(), residue.Job{}, top+"/job")
	r := find(t, c)[0]
	if r.Proof[proofBirth] == "" {
		t.Skip("the file system keeps no birth time")
	}
	change := func(key, value string) map[string]string {
		p := map[string]string{}
		for k, v := range r.Proof {
			p[k] = v
		}
		p[proofBoot] = "0123456789abcdef0123456789abcdef"
		if value == "" {
			delete(p, key)
		} else {
			p[key] = value
		}
		return p
	}
	try := func(p map[string]string) error {
		fresh := with(t, running(), residue.Job{}, top+"/job")
		return fresh.Remove(context.Background(), residue.Residue{Type: typePath, Ref: top + "/job", Proof: p})
	}
	wants(t, try(change(proofMount, "/elsewhere")), residue.Lost, residue.Changed)
	wants(t, try(change(proofIno, "1")), residue.Lost, residue.Changed)
	wants(t, try(change(proofBirth, "2001-01-01T00:00:00Z")), residue.Lost, residue.Changed)
	wants(t, try(change(proofBirth, "rubbish")), residue.Lost, residue.Changed)
	wants(t, try(change(proofBirth, "")), residue.Retry, residue.Changed)
	wants(t, try(change(proofKind, "file")), residue.Lost, residue.Changed)
	there(t, top+"/job/x")
	must(t, try(change(proofDev, "1")))
	gone(t, top+"/job")
}

func TestNoBirthTime(t *testing.T) {
	top := build(t, t.TempDir(), "job/x")
	k := running()
	k.birth = false
	c := with(t, k, residue.Job{}, top+"/job")
	r := find(t, c)[0]
	fresh := with(t, k, residue.Job{}, top+"/job")
	wants(t, fresh.Remove(context.Background(), r), residue.Retry, residue.Changed)
	there(t, top+"/job/x")
	must(t, c.Remove(context.Background(), r)) // the one that has just looked
	gone(t, top+"/job")
}

func TestNoMountID(t *testing.T) {
	k := old()
	k.fdinfo = false
	top := build(t, t.TempDir(), "job/a/x")
	if err := clean(with(t, k, residue.Job{}, top+"/job")); err == nil {
		t.Fatal("went on without knowing the mounts")
	}
	there(t, top+"/job/a/x")
}

func TestTransparentMount(t *testing.T) {
	kernels(t, func(t *testing.T, k kernel) {
		top := build(t, t.TempDir(), "job/a/x", "its/job/x")
		outside := find(t, with(t, k, residue.Job{}, top+"/job"))[0]
		bind(t, top+"/job", top+"/job")
		bind(t, top+"/work", top+"/work")
		c := with(t, k, residue.Job{}, top+"/job")
		inside := find(t, c)[0]
		if inside.ID != outside.ID {
			t.Fatalf("the proof is %v inside and %v outside", inside.Proof, outside.Proof)
		}
		e := wants(t, c.Remove(context.Background(), inside), residue.Retry, residue.MountPoint)
		gone(t, top+"/job/a")
		there(t, top+"/job")
		if !strings.Contains(e.Error(), "1 stay") && !strings.Contains(e.Error(), "mounted") {
			t.Fatal(e)
		}
		must(t, clean(with(t, k, residue.Job{}, top+"/its/job")))
		gone(t, top+"/its/job")
		must(t, unix.Unmount(top+"/job", 0))
		must(t, c.Remove(context.Background(), outside))
		gone(t, top+"/job")
	})
}
