package lockfile

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/clean/cleantest"
	"job-cleanup/pkg/residue"
)

// us is what a holder could truthfully write about this process.
func us(t *testing.T) (pid int, start uint64, boot, host string) {
	t.Helper()
	start, err := local.start(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if boot, err = local.boot(); err != nil {
		t.Fatal(err)
	}
	return os.Getpid(), start, boot, local.host()
}

func TestCase36_onlyTheProvablyDeadGo(t *testing.T) {
	pid, start, boot, host := us(t)
	dead := reaped(t)
	const otherBoot = "00112233-4455-6677-8899-aabbccddeeff"
	tests := []struct{ name, content, want string }{
		{"dead pid", fmt.Sprintln(dead), isRemoved},
		{"dead pid, padded", fmt.Sprintf("%10d\n", dead), isRemoved},
		{"dead pid here", fmt.Sprintf("%d %s\n", dead, host), isRemoved},
		{"dead pid, object", fmt.Sprintf(`{"pid": %d, "host": %q}`, dead, host), isRemoved},
		{"live holder", fmt.Sprintln(pid), isInUse},
		{"live holder, start known", fmt.Sprintf("pid=%d\nstart=%d\nboot=%s\n", pid, start, boot), isInUse},
		{"live pid, other start time", fmt.Sprintf("pid=%d\nstart=%d\n", pid, start-12345), isRemoved},
		{"live pid, started a tick later", fmt.Sprintf("pid=%d\nstart=%d\n", pid, start+1), isRemoved},
		{"live pid, start on the wall clock", fmt.Sprintf(`{"pid": %d, "start_time": 1700000000}`, pid), isInUse},
		{"live pid, start as a fraction", fmt.Sprintf(`{"pid": %d, "start_time": 1234.5}`, pid), isInUse},
		{"live pid, start in seconds", fmt.Sprintf("pid=%d\nstart=%d\n", pid, start/100), isInUse},
		{"live pid, start in milliseconds", fmt.Sprintf("pid=%d\nstart=%d\n", pid, start*10), isInUse},
		{"live pid, other boot", fmt.Sprintf("pid: %d\nboot: %s\n", pid, otherBoot), isRemoved},
		{"live pid, boot in another form", fmt.Sprintf("pid: %d\nboot: 1700000000\n", pid), isInUse},
		{"dead pid, other host", fmt.Sprintf("%d elsewhere\n", dead), isInUse},
		{"dead pid, other host, other boot", fmt.Sprintf("pid=%d\nhost=elsewhere\nboot=%s\n", dead, otherBoot), isInUse},
		{"other host first", fmt.Sprintf("elsewhere:%d\n", dead), isInUse},
		{"empty", "", isRefused},
		{"no pid", "locked by the batch job\n", isRefused},
		{"a host or a program", fmt.Sprintf("%d\nelsewhere\n", dead), isRefused},
		{"a number too many", fmt.Sprintf("%d %d\n", dead, dead), isRefused},
		{"our own group", "0\n", isRefused},
		{"everybody", "-1\n", isRefused},
		{"no process id", "99999999999999999999\n", isRefused},
		{"too large", fmt.Sprintf("%d\n%s", dead, strings.Repeat("x", maxSize)), isRefused},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "job.lock")
			write(t, path, tt.content)
			if got := cleantest.Verdict(clean(t, opened(t, path, nil))); got != tt.want {
				t.Errorf("%q: %s, want %s", tt.content, got, tt.want)
			}
			if there(path) != (tt.want != isRemoved) {
				t.Errorf("%q: there is %v after %s", tt.content, there(path), tt.want)
			}
		})
	}
}

// TestCase36_removeJudgesAgain gives Remove what an earlier process found.
func TestCase36_removeJudgesAgain(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "job.lock")
	tests := []struct {
		name string
		then func()
		want string
	}{
		{"another holder wrote into it", func() { write(t, path, fmt.Sprintln(os.Getpid())) }, isLost},
		{"another dead holder wrote into it", func() { write(t, path, "2147483646\n") }, isLost},
		{"made again", func() {
			text, _ := os.ReadFile(path)
			_ = os.Remove(path)
			write(t, path, string(text))
		}, isLost},
		{"gone", func() { _ = os.Remove(path) }, wasGone},
		{"nothing", func() {}, isRemoved},
	}
	for _, tt := range tests {
		write(t, path, "2147483647\n")
		c := opened(t, path, nil)
		found, err := c.Find(context.Background())
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: found %v, %v", tt.name, found, err)
		}
		tt.then()
		if got := cleantest.Verdict(c.Remove(context.Background(), found[0])); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		if there(path) != (tt.want == isLost) {
			t.Errorf("%s: there is %v", tt.name, there(path))
		}
		_ = os.Remove(path)
	}
}

func TestCase36_unreadable(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to become somebody else")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "job.lock")
	write(t, path, fmt.Sprintln(reaped(t)))
	c := opened(t, path, nil)
	as := func(mode, folder os.FileMode) string {
		for name, m := range map[string]os.FileMode{path: mode, dir: folder, filepath.Dir(dir): 0o755} {
			if err := os.Chmod(name, m); err != nil {
				t.Fatal(err)
			}
		}
		runtime.LockOSThread() // the identity for files is a thread's
		defer runtime.UnlockOSThread()
		unix.SetfsuidRetUid(65534)
		defer unix.SetfsuidRetUid(0)
		return cleantest.Verdict(clean(t, c))
	}
	if got := as(0o000, 0o777); got != "owed permission" {
		t.Errorf("an unreadable file: %s", got)
	}
	if got := as(0o644, 0o700); got != "owed permission" {
		t.Errorf("an unreadable folder: %s", got)
	}
	if got := as(0o644, 0o755); got != "owed permission" || !there(path) {
		t.Errorf("a folder that can't be written to: %s, there is %v", got, there(path))
	}
	if got := as(0o644, 0o777); got != isRemoved {
		t.Errorf("readable and in a writable folder: %s", got)
	}
}

// TestCase36_fileLock holds the lock by flock(2) or by fcntl(2), or not at all.
func TestCase36_fileLock(t *testing.T) {
	hold := map[string]func(fd int) error{
		"flock":        func(fd int) error { return unix.Flock(fd, unix.LOCK_EX) },
		"shared flock": func(fd int) error { return unix.Flock(fd, unix.LOCK_SH) },
		"fcntl": func(fd int) error {
			return unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
		},
	}
	for name, lock := range hold {
		for _, holder := range []string{"auto", "pid", "flock"} {
			t.Run(name+" "+holder, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "job.lock")
				write(t, path, fmt.Sprintln(reaped(t)))
				c := opened(t, path, map[string][]string{"Holder": {holder}})
				found, err := c.Find(context.Background())
				if err != nil || len(found) != 1 {
					t.Fatalf("found %v, %v", found, err)
				}
				f, err := os.OpenFile(path, os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				if err := lock(int(f.Fd())); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Find(context.Background()); cleantest.Verdict(err) != isInUse {
					t.Errorf("find: %v, want in-use", err)
				}
				if got := cleantest.Verdict(c.Remove(context.Background(), found[0])); got != isInUse || !there(path) {
					t.Errorf("remove: %s, there is %v", got, there(path))
				}
				_ = f.Close()
				if got := cleantest.Verdict(c.Remove(context.Background(), found[0])); got != isRemoved || there(path) {
					t.Errorf("remove when it is free: %s, there is %v", got, there(path))
				}
			})
		}
	}
}

func TestCase36_flockAloneDecides(t *testing.T) {
	for _, content := range []string{"", "anything\n", fmt.Sprintln(os.Getpid())} {
		path := filepath.Join(t.TempDir(), "job.lock")
		write(t, path, content)
		if got := cleantest.Verdict(clean(t, opened(t, path, map[string][]string{"Holder": {"flock"}}))); got != isRemoved {
			t.Errorf("a free lock with %q: %s", content, got)
		}
	}
}

// TestCase36_links are locks whose holder stands in the text of a link.
func TestCase36_links(t *testing.T) {
	host := local.host()
	dead := reaped(t)
	tests := []struct{ target, want string }{
		{fmt.Sprintf("%s:%d", host, dead), isRemoved},
		{fmt.Sprintf("%s:+%d", host, dead), isRemoved},
		{fmt.Sprintf("%s-%d", host, dead), isRemoved},
		{fmt.Sprintf("me@%s.%d:1700000000", host, dead), isRemoved},
		{fmt.Sprintf("%s:%d", host, os.Getpid()), isInUse},
		{fmt.Sprintf("elsewhere-%d", dead), isInUse},
		{"127.0.1.1:+" + fmt.Sprint(dead), isInUse},
		{"canary", isRefused},
	}
	for _, tt := range tests {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "canary"), "")
		path := filepath.Join(dir, "job.lock")
		if err := os.Symlink(tt.target, path); err != nil {
			t.Fatal(err)
		}
		if got := cleantest.Verdict(clean(t, opened(t, path, nil))); got != tt.want || there(path) == (tt.want == isRemoved) {
			t.Errorf("link to %q: %s, there is %v; want %s", tt.target, got, there(path), tt.want)
		}
		if !there(filepath.Join(dir, "canary")) {
			t.Errorf("link to %q: the canary is gone", tt.target)
		}
		if err := residue.AsError(clean(t, opened(t, path, map[string][]string{"Holder": {"flock"}}))); err != nil && err.Class == residue.Retry {
			t.Errorf("link to %q as a file lock: %v", tt.target, err)
		}
	}
}
