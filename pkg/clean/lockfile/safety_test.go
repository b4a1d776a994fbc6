package lockfile

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/clean/cleantest"
	"job-cleanup/pkg/residue"
)

func TestCase10_specialFilesAreNotOpened(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "job.lock")
	lay := map[string]func() error{
		"fifo":   func() error { return unix.Mkfifo(path, 0o644) },
		"folder": func() error { return os.Mkdir(path, 0o755) },
		"device": func() error { return unix.Mknod(path, unix.S_IFCHR|0o644, int(unix.Mkdev(1, 3))) },
	}
	for name, f := range lay {
		if err := f(); err != nil {
			t.Logf("%s: %v", name, err)
			continue
		}
		done := async(func() error { return clean(t, opened(t, path, map[string][]string{"Holder": {"flock"}})) })
		select {
		case err := <-done:
			if cleantest.Verdict(err) != isRefused || !there(path) {
				t.Errorf("%s: %v, there is %v", name, err, there(path))
			}
		case <-time.After(5 * time.Second):
			t.Fatalf("%s: opened, and it hangs", name)
		}
		_ = os.Remove(path)
	}
}

func async(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}

func TestCase15_noLinkIsFollowed(t *testing.T) {
	dir := t.TempDir()
	for _, sub := range []string{"base", "outside"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	canary := filepath.Join(dir, "outside", "job.lock")
	write(t, canary, fmt.Sprintln(reaped(t)))
	if err := os.Symlink("../outside", filepath.Join(dir, "base", "sub")); err != nil {
		t.Fatal(err)
	}
	spec := residue.Spec{Value: dir + "/base/sub/job.lock", Options: map[string][]string{"Within": {dir + "/base"}}}
	c, err := Kind.Open(spec, residue.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	if e := residue.AsError(clean(t, c)); e == nil || e.Class != residue.Refused || !there(canary) {
		t.Errorf("through a link: %v, the canary is there: %v", e, there(canary))
	}
}

// TestReplacedInTheInstant puts another file in place after the judgement, one
// of the same content too.
func TestReplacedInTheInstant(t *testing.T) {
	for _, text := range []string{fmt.Sprintln(os.Getpid()), "2147483647\n"} {
		path := filepath.Join(t.TempDir(), "job.lock")
		write(t, path, "2147483647\n")
		c := opened(t, path, nil)
		dir, f, err := c.open(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		defer f.Close()
		write(t, path+".new", text)
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
		if got := cleantest.Verdict(c.unlink(dir, f)); got != isLost {
			t.Errorf("%s, want %s", got, isLost)
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != text {
			t.Errorf("the new holder's file is %q, %v", now, err)
		}
		if names, _ := os.ReadDir(filepath.Dir(path)); len(names) != 1 {
			t.Errorf("something was left beside it: %v", names)
		}
	}
}

func TestPutBackNeverReplaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "job.lock")
	write(t, path, "third")
	write(t, filepath.Join(filepath.Dir(path), "aside"), "second")
	c := opened(t, path, nil)
	dir, f, err := c.open(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	defer f.Close()
	err = c.putBack(int(dir.Fd()), "aside", "job.lock")
	if e := residue.AsError(err); e == nil || e.Class != residue.Refused || !strings.Contains(err.Error(), "aside") {
		t.Errorf("put back over a third file: %v", err)
	}
	if text, _ := os.ReadFile(path); string(text) != "third" {
		t.Errorf("the third file is %q", text)
	}
}

// TestCutOffRemovalIsEnded starts where a crash left the file aside.
func TestCutOffRemovalIsEnded(t *testing.T) {
	for _, successor := range []string{"", fmt.Sprintln(os.Getpid())} {
		path := filepath.Join(t.TempDir(), "job.lock")
		write(t, path, "2147483647\n")
		found, err := opened(t, path, nil).Find(context.Background())
		if err != nil || len(found) != 1 {
			t.Fatalf("found %v, %v", found, err)
		}
		hidden := filepath.Join(filepath.Dir(path), aside("job.lock", found[0].Proof))
		if err := os.Rename(path, hidden); err != nil {
			t.Fatal(err)
		}
		if successor != "" {
			write(t, path, successor)
		}
		if got := cleantest.Verdict(opened(t, path, nil).Remove(context.Background(), found[0])); got != isRemoved || there(hidden) {
			t.Errorf("%s, the file aside is there: %v", got, there(hidden))
		}
		if there(path) != (successor != "") {
			t.Errorf("the successor's lock is there: %v", there(path))
		}
	}
}

func TestImmutable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "job.lock")
	write(t, path, "2147483647\n")
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const immutable = 0x10 // FS_IMMUTABLE_FL
	if err := unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, immutable); err != nil {
		t.Skipf("cannot make a file immutable here: %v", err)
	}
	defer func() { _ = unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, 0) }()
	if got := cleantest.Verdict(clean(t, opened(t, path, nil))); got != "owed immutable" || !there(path) {
		t.Errorf("%s, there is %v", got, there(path))
	}
}

// TestLookingTakesNoLock tries flock -n all the while that Find looks.
func TestLookingTakesNoLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "job.lock")
	write(t, path, "")
	c := opened(t, path, map[string][]string{"Holder": {"flock"}})
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		for range 300 {
			_, _ = c.Find(context.Background())
		}
	}()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for {
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			t.Fatalf("a job's flock -n failed: %v", err)
		}
		_ = unix.Flock(int(f.Fd()), unix.LOCK_UN)
		select {
		case <-looked:
			return
		default:
		}
	}
}

func TestCase13_absentOnlyWhereOneCanSee(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "a", "b")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "job.lock")
	within := map[string][]string{"Within": {top}}
	facts, err := opened(t, path, within).Prepare(context.Background())
	if err != nil || facts["mount"] == "" || facts["dev"] == "" {
		t.Fatalf("prepared %v, %v", facts, err)
	}
	if err := os.RemoveAll(filepath.Join(top, "a")); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		spec residue.Spec
		job  residue.Job
		want string
	}{
		{"parents are gone too", residue.Spec{Facts: facts}, residue.Job{}, wasGone},
		{"nothing recorded", residue.Spec{}, residue.Job{}, wasGone},
		{"was on another mount", residue.Spec{Facts: map[string]string{"mount": "/net/x", "dev": "0", "boot": facts["boot"]}}, residue.Job{}, "owed changed"},
		{"hidden from us", residue.Spec{}, residue.Job{Sandbox: []residue.Hidden{{Path: top, How: residue.Masked}}}, "owed permission"},
		{"another tree to us", residue.Spec{}, residue.Job{Outside: true, Sandbox: []residue.Hidden{{Path: top, How: residue.Elsewhere}}}, "owed changed"},
		{"went with its unit", residue.Spec{}, residue.Job{Outside: true, Sandbox: []residue.Hidden{{Path: top, How: residue.Private}}}, wasGone},
	}
	for _, tt := range tests {
		tt.spec.Value, tt.spec.Options = path, within
		c, err := Kind.Open(tt.spec, residue.Deps{Job: tt.job})
		if err != nil {
			t.Fatal(err)
		}
		if got := cleantest.Verdict(clean(t, c)); got != tt.want {
			t.Errorf("%s: find %s, want %s", tt.name, got, tt.want)
		}
		if got := cleantest.Verdict(c.Remove(context.Background(), residue.Residue{Type: "lockfile", Ref: path})); got != tt.want {
			t.Errorf("%s: remove %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestCase45_somebodyElsesTmp: the path exists, but is not the job's.
func TestCase45_somebodyElsesTmp(t *testing.T) {
	for _, how := range []residue.HiddenHow{residue.Private, residue.Elsewhere, residue.Masked} {
		path := filepath.Join(t.TempDir(), "job.lock")
		write(t, path, "2147483647\n")
		c := opened(t, path, nil)
		found, err := c.Find(context.Background())
		if err != nil || len(found) != 1 {
			t.Fatalf("found %v, %v", found, err)
		}
		c.job.Outside, c.job.Sandbox = true, []residue.Hidden{{Path: filepath.Dir(path), How: how}}
		if again, _ := c.Find(context.Background()); len(again) != 0 {
			t.Errorf("%s: found %v without proof", how, again)
		}
		if err := c.Remove(context.Background(), residue.Residue{Ref: path}); err == nil || !there(path) {
			t.Errorf("%s: removed without proof", how)
		}
		if how == residue.Private {
			continue
		}
		if got := cleantest.Verdict(c.Remove(context.Background(), found[0])); got != isRemoved {
			t.Errorf("%s: with proof: %s", how, got)
		}
	}
}
