package secret_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/secret"
)

func newStash(t *testing.T) *secret.Stash {
	t.Helper()
	return &secret.Stash{Base: filepath.Join(t.TempDir(), "base"), Unit: "batch@1.service", Invocation: "0123",
		UID: os.Geteuid(), GID: os.Getegid(), AnyDisk: true}
}

var source = secret.Ref{Scheme: secret.Credential, Name: "token"}

func put(t *testing.T, s *secret.Stash, r secret.Ref, text string) string {
	t.Helper()
	ref, err := s.Put(r, secret.New(text))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(ref, "stash:")
}

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

func TestStash(t *testing.T) {
	old := unix.Umask(0o077)
	defer unix.Umask(old)
	s := newStash(t)
	id := put(t, s, source, "first\n")
	if again := put(t, s, source, "second\n"); again != id {
		t.Errorf("the same source got %q, then %q", id, again)
	}
	other := put(t, s, secret.Ref{Scheme: secret.Env, Name: "B"}, "b")
	if got, err := s.Get(id); err != nil || got.Reveal() != "second" {
		t.Errorf("Get: %d bytes, %v", len(got.Reveal()), err)
	}
	unit := filepath.Join(s.Base, s.Unit)
	for path, want := range map[string]fs.FileMode{
		s.Base: 0o711, unit: 0o711, filepath.Join(unit, s.Invocation): 0o700, filepath.Join(unit, s.Invocation, id): 0o600,
	} {
		if got := mode(t, path); got != want {
			t.Errorf("mode of %q is %#o, want %#o", path, got, want)
		}
	}
	if err := errors.Join(s.Drop(other), s.Drop(other)); err != nil {
		t.Errorf("drop twice: %v", err)
	}
	if _, err := s.Get(other); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after the drop: %v", err)
	}
	if err := errors.Join(s.DropAll(), s.DropAll()); err != nil {
		t.Errorf("drop all twice: %v", err)
	}
	if _, err := os.Lstat(unit); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the unit's folder is still there: %v", err)
	}
}

func TestStashStaysInMemory(t *testing.T) {
	s := newStash(t)
	s.AnyDisk = false
	var st unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(s.Base), &st); err != nil {
		t.Fatal(err)
	}
	_, err := s.Put(source, secret.New(canary))
	if int64(st.Type) == unix.TMPFS_MAGIC {
		if err != nil {
			t.Errorf("on a tmpfs: %v", err)
		}
	} else if !errors.Is(err, secret.ErrNotInMemory) || strings.Contains(err.Error(), canary) {
		t.Errorf("on a disk: %v", err)
	}
	if err := unix.Statfs("/dev/shm", &st); err != nil || int64(st.Type) != unix.TMPFS_MAGIC {
		t.Skip("no tmpfs at /dev/shm")
	}
	dir, err := os.MkdirTemp("/dev/shm", "stash")
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(dir)
	s.Base = filepath.Join(dir, "base")
	put(t, s, source, canary)
}

func TestStashRefusesHostileNames(t *testing.T) {
	for _, name := range []string{"", ".", "..", "../x", "a/b", ".x", "a\nb", strings.Repeat("x", 256)} {
		s := newStash(t)
		s.Unit = name
		if _, err := s.Put(source, secret.New("x")); !errors.Is(err, secret.ErrUntrusted) {
			t.Errorf("unit %q: %v", name, err)
		}
		if _, err := os.Lstat(s.Base); err == nil {
			t.Errorf("unit %q: the base was made", name)
		}
		s = newStash(t)
		s.Invocation = name
		if _, err := s.Put(source, secret.New("x")); !errors.Is(err, secret.ErrUntrusted) {
			t.Errorf("invocation %q: %v", name, err)
		}
		if _, err := s.Get(name); err == nil {
			t.Errorf("id %q: no error", name)
		}
		if err := s.Drop(name); err == nil {
			t.Errorf("id %q: dropped", name)
		}
	}
}

func TestStashRefusesHostileFiles(t *testing.T) {
	canaryFile := write(t, filepath.Join(t.TempDir(), "canary"), canary)
	folder := func(s *secret.Stash) string { return filepath.Join(s.Base, s.Unit, s.Invocation) }
	plant := map[string]func(s *secret.Stash, id string) error{
		"file is a link":   func(s *secret.Stash, id string) error { return os.Symlink(canaryFile, filepath.Join(folder(s), id)) },
		"file is a fifo":   func(s *secret.Stash, id string) error { return unix.Mkfifo(filepath.Join(folder(s), id), 0o600) },
		"file is a folder": func(s *secret.Stash, id string) error { return os.Mkdir(filepath.Join(folder(s), id), 0o700) },
		"a second name":    func(s *secret.Stash, id string) error { return os.Link(canaryFile, filepath.Join(folder(s), id)) },
	}
	for name, do := range plant {
		t.Run(name, func(t *testing.T) {
			s := newStash(t)
			id := put(t, s, source, "mine")
			if err := errors.Join(s.Drop(id), do(s, id)); err != nil {
				t.Fatal(err)
			}
			if got, err := s.Get(id); err == nil {
				t.Errorf("Get returned %d bytes", len(got.Reveal()))
			}
			_, _ = s.Put(source, secret.New("new"))
			_ = s.Drop(id)
			_ = s.DropAll()
			if text, err := os.ReadFile(canaryFile); err != nil || string(text) != canary {
				t.Errorf("canary was touched: %v", err)
			}
		})
	}
}

func TestStashOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to give files away")
	}
	s := newStash(t)
	s.UID, s.GID = 4711, 4712
	id := put(t, s, source, "theirs")
	var st unix.Stat_t
	for _, path := range []string{s.Invocation, filepath.Join(s.Invocation, id)} {
		if err := unix.Lstat(filepath.Join(s.Base, s.Unit, path), &st); err != nil || st.Uid != 4711 || st.Gid != 4712 {
			t.Errorf("%q belongs to %d:%d (%v)", path, st.Uid, st.Gid, err)
		}
	}
	if _, err := s.Get(id); err != nil {
		t.Error(err)
	}
	third := *s
	third.UID = 4713
	if _, err := third.Get(id); !errors.Is(err, secret.ErrUntrusted) {
		t.Errorf("as another user's: %v", err)
	}
	if _, err := third.Put(source, secret.New("x")); !errors.Is(err, secret.ErrUntrusted) {
		t.Errorf("put as another user's: %v", err)
	}
}

// What stands behind a folder that is not the stash's own is not read, though
// all below it is as it must be.
func TestStashRefusesHostileFolders(t *testing.T) {
	folder := func(s *secret.Stash) string { return filepath.Join(s.Base, s.Unit, s.Invocation) }
	link := func(path string) error {
		return errors.Join(os.Rename(path, path+"-away"), os.Symlink(path+"-away", path))
	}
	plant := map[string]func(s *secret.Stash) error{
		"invocation is a link": func(s *secret.Stash) error { return link(folder(s)) },
		"unit is a link":       func(s *secret.Stash) error { return link(filepath.Dir(folder(s))) },
		"invocation is open":   func(s *secret.Stash) error { return os.Chmod(folder(s), 0o770) },
		"unit is open":         func(s *secret.Stash) error { return os.Chmod(filepath.Dir(folder(s)), 0o777) },
	}
	for name, do := range plant {
		t.Run(name, func(t *testing.T) {
			s := newStash(t)
			id := put(t, s, source, "mine")
			if err := do(s); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Get(id); !errors.Is(err, secret.ErrUntrusted) {
				t.Errorf("get: %v", err)
			}
			if _, err := s.Put(source, secret.New("x")); !errors.Is(err, secret.ErrUntrusted) {
				t.Errorf("put: %v", err)
			}
			if err := s.DropAll(); !errors.Is(err, secret.ErrUntrusted) {
				t.Errorf("drop: %v", err)
			}
		})
	}
}

func TestStashRefusesFilesOfOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to give files away")
	}
	s := newStash(t)
	id := put(t, s, source, "mine")
	if err := os.Chown(filepath.Join(s.Base, s.Unit, s.Invocation, id), 4711, 4711); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(id); !errors.Is(err, secret.ErrUntrusted) {
		t.Errorf("got %v", err)
	}
}
