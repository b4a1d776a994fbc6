package aws_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/residue"
)

func TestCase20_oneFileOfTwoJobs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials")
	before := "# kept by hand\r\n[default]\nregion=x\n\n"
	after := "; about the next one\n[batch-70]\n  aws_access_key_id=ASIAOTHER\n\n\n[last]\nno newline at the end"
	write(t, file, before+"[batch-7]\naws_access_key_id = ASIAOURS\naws_session_token = x\naws_session_expiration = "+past+"\n\n"+after)
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(file, 0, 12); err != nil {
			t.Fatal(err)
		}
	}
	was, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	held, err := os.Open(file) // a reader in the middle of it
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()

	c := open(t, profileSpec(file, "batch-7"), deps())
	if err := c.Remove(t.Context(), one(t, c)); err != nil {
		t.Fatal(err)
	}
	if got := read(t, file); got != before+after {
		t.Errorf("the file is\n%q, want\n%q", got, before+after)
	}
	is, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	a, b := was.Sys().(*syscall.Stat_t), is.Sys().(*syscall.Stat_t)
	if a.Mode != b.Mode || a.Uid != b.Uid || a.Gid != b.Gid {
		t.Errorf("mode and owner are %o %d:%d, were %o %d:%d", b.Mode, b.Uid, b.Gid, a.Mode, a.Uid, a.Gid)
	}
	if a.Ino == b.Ino {
		t.Error("it was written in place: a reader or a crash in the middle sees half of it")
	}
	clean(t, file)
}

// Jobs that end at once do not write back what the other one cut out.
func TestCase20_manyJobsEndAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials")
	write(t, file, "[keep]\nregion = x\n")
	var cleaners []residue.Cleaner
	for i := range 12 {
		name := fmt.Sprintf("batch@7-%d", i)
		add(t, file, section(name, "ASIA"+name, past))
		cleaners = append(cleaners, open(t, profileSpec(file, name), deps()))
	}
	var found []residue.Residue
	for _, c := range cleaners {
		found = append(found, one(t, c))
	}
	var all sync.WaitGroup
	for i, c := range cleaners {
		all.Go(func() {
			if err := c.Remove(t.Context(), found[i]); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := read(t, file); got != "[keep]\nregion = x\n" {
		t.Errorf("left:\n%s", got)
	}
}

func TestCase32_sessionIsNotRevocable(t *testing.T) {
	dir := t.TempDir()
	ends := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	file, cache := filepath.Join(dir, "credentials"), filepath.Join(dir, "c.json")
	write(t, file, section("batch-7", "ASIAOURS", ends.Format(time.RFC3339)))
	write(t, cache, cacheText("ASIAOURS", ends.Format(time.RFC3339)))
	for _, spec := range []residue.Spec{profileSpec(file, "batch-7"), cacheSpec(cache)} {
		d := deps()
		c := open(t, spec, d)
		r := one(t, c)
		if !r.Expires.Equal(ends) {
			t.Errorf("%s: expires %v, want %v", r.Ref, r.Expires, ends)
		}
		for range 2 { // a crash may have kept us from writing down the first
			err := c.Remove(t.Context(), r)
			want(t, err, residue.Until, residue.Other)
			if e := residue.AsError(err); e == nil || !e.Until.Equal(ends) {
				t.Errorf("%s: until %v, want %v", r.Ref, e, ends)
			}
		}
		if found, err := c.Find(t.Context()); err != nil || len(found) != 0 {
			t.Errorf("found %v, %v; want no copy", found, err)
		}
		d.Now = func() time.Time { return ends.Add(time.Second) }
		want(t, open(t, spec, d).Remove(t.Context(), r), residue.Gone, "absent")
	}
	if text := read(t, file); text != "" {
		t.Errorf("the file still holds %q", text)
	}
}

func TestExpiryThatIsNotTold(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials")
	write(t, file, section("batch-7", "ASIAOURS", ""))
	r := one(t, open(t, profileSpec(file, "batch-7"), deps()))
	if d := time.Until(r.Expires); d < 35*time.Hour || d > 37*time.Hour || r.Proof["expires"] != "at-most" {
		t.Errorf("expires in %v, %v", d, r.Proof)
	}
	write(t, file, "[batch-7]\naws_access_key_id=AKIALASTING\n") // no session's key
	if r = one(t, open(t, profileSpec(file, "batch-7"), deps())); !r.Expires.IsZero() {
		t.Errorf("a lasting key expires %v", r.Expires)
	}
}

func TestAnotherSessionUnderTheName(t *testing.T) {
	dir := t.TempDir()
	file, cache := filepath.Join(dir, "credentials"), filepath.Join(dir, "c.json")
	write(t, file, section("batch-7", "ASIAOURS", past))
	write(t, cache, cacheText("ASIAOURS", past))
	for _, spec := range []residue.Spec{profileSpec(file, "batch-7"), cacheSpec(cache)} {
		c := open(t, spec, deps())
		r := one(t, c)
		write(t, file, section("batch-7", "ASIANEXT", past))
		write(t, cache, cacheText("ASIANEXT", past))
		before := read(t, file) + read(t, cache)
		want(t, c.Remove(t.Context(), r), residue.Lost, residue.Changed)
		spec.Tracked = &r
		_, err := open(t, spec, deps()).Find(t.Context())
		want(t, err, residue.Lost, residue.Changed)
		if read(t, file)+read(t, cache) != before {
			t.Error("somebody else's session was touched")
		}
		write(t, file, section("batch-7", "ASIAOURS", past))
		write(t, cache, cacheText("ASIAOURS", past))
	}
}

func TestFilesThatAreNotTouched(t *testing.T) {
	tests := map[string]struct {
		make   func(t *testing.T, path string)
		class  residue.Class
		reason residue.Reason
	}{
		"link": {func(t *testing.T, path string) {
			write(t, path+".target", section("batch-7", "A", past))
			must(t, os.Symlink(path+".target", path))
		}, residue.Refused, residue.Protected},
		"two names": {func(t *testing.T, path string) {
			write(t, path, section("batch-7", "A", past))
			must(t, os.Link(path, path+".other"))
		}, residue.Refused, residue.Protected},
		"fifo":   {func(t *testing.T, path string) { must(t, unix.Mkfifo(path, 0o600)) }, residue.Refused, residue.Protected},
		"folder": {func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o700)) }, residue.Refused, residue.Protected},
		"too large": {func(t *testing.T, path string) {
			write(t, path, section("batch-7", "A", past)+strings.Repeat("#\n", 600_000))
		}, residue.Refused, residue.Protected},
		"another user's": {func(t *testing.T, path string) {
			if os.Geteuid() != 0 {
				t.Skip("needs root to make a file of another user")
			}
			write(t, path, section("batch-7", "A", past))
			must(t, os.Chown(path, 12345, 12345))
		}, residue.Refused, residue.Protected},
		"behind a link": {func(t *testing.T, path string) {
			real := filepath.Dir(path) + ".real"
			must(t, os.Rename(filepath.Dir(path), real))
			write(t, filepath.Join(real, "credentials"), section("batch-7", "A", past))
			must(t, os.Symlink(real, filepath.Dir(path)))
		}, residue.Refused, residue.OutsideBase},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "aws")
			must(t, os.Mkdir(dir, 0o700))
			path := filepath.Join(dir, "credentials")
			tt.make(t, path)
			for _, spec := range []residue.Spec{profileSpec(path, "batch-7"), cacheSpec(path)} {
				c := open(t, spec, deps())
				_, err := c.Find(t.Context())
				want(t, err, tt.class, tt.reason)
				want(t, c.Remove(t.Context(), residue.Residue{Ref: spec.Value, Proof: map[string]string{"key-id": "A"}}), tt.class, tt.reason)
			}
			if _, err := os.Lstat(path); err != nil {
				t.Error(err)
			}
		})
	}
}

// A home is no base: only what the plan names there is reached, and no link on
// the way that somebody else than root or we made.
func TestHome(t *testing.T) {
	here, err := filepath.Abs(".")
	must(t, err)
	home, err := os.MkdirTemp(here, "home-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	must(t, os.MkdirAll(filepath.Join(home, ".aws", "cli", "cache"), 0o700))
	file, cache := filepath.Join(home, ".aws", "credentials"), filepath.Join(home, ".aws", "cli", "cache", "c.json")
	write(t, file, section("batch-7", "ASIAOURS", past))
	write(t, cache, cacheText("ASIAOURS", past))
	for _, spec := range []residue.Spec{profileSpec(file, "batch-7"), cacheSpec(cache)} {
		c := open(t, spec, deps())
		if err := c.Remove(t.Context(), one(t, c)); err != nil {
			t.Error(err)
		}
	}
	if os.Geteuid() != 0 {
		return
	}
	must(t, os.Symlink(filepath.Join(home, ".aws"), filepath.Join(home, "link")))
	must(t, os.Lchown(filepath.Join(home, "link"), 12345, 12345))
	_, err = open(t, profileSpec(filepath.Join(home, "link", "credentials"), "batch-7"), deps()).Find(t.Context())
	want(t, err, residue.Refused, residue.OutsideBase)
}

func TestImmutableFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials")
	write(t, file, section("batch-7", "ASIAOURS", past))
	if err := exec.Command("chattr", "+i", file).Run(); err != nil {
		t.Skipf("needs root and a file system with chattr: %v", err)
	}
	t.Cleanup(func() { _ = exec.Command("chattr", "-i", file).Run() })
	for _, spec := range []residue.Spec{profileSpec(file, "batch-7"), cacheSpec(file)} {
		c := open(t, spec, deps())
		r := residue.Residue{Ref: spec.Value}
		if spec.Selector == "RemoveProfile" {
			r = one(t, c)
		}
		want(t, c.Remove(t.Context(), r), residue.Retry, residue.Immutable)
	}
	clean(t, file)
}

// What a crash left behind is cleared away, and holds nobody up.
func TestLeftoverOfACrash(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials")
	write(t, file, section("batch-7", "ASIAOURS", past)+"[b]\n")
	write(t, filepath.Join(filepath.Dir(file), ".credentials.job-cleanup"), "half a fi")
	c := open(t, profileSpec(file, "batch-7"), deps())
	if err := c.Remove(t.Context(), one(t, c)); err != nil || read(t, file) != "[b]\n" {
		t.Errorf("%v; the file is %q", err, read(t, file))
	}
	clean(t, file)
}

// A folder that somebody keeps locked makes us give up, not wait.
func TestLockedFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials")
	write(t, file, section("batch-7", "ASIAOURS", past))
	dir, err := os.Open(filepath.Dir(file))
	must(t, err)
	defer dir.Close()
	must(t, unix.Flock(int(dir.Fd()), unix.LOCK_EX))
	c := open(t, profileSpec(file, "batch-7"), deps())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	want(t, c.Remove(ctx, one(t, c)), residue.Retry, residue.Deadline)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
