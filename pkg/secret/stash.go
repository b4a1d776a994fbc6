package secret

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ErrNotInMemory is wrapped by Put's error when the stash would reach a disk.
var ErrNotInMemory = errors.New("not on a file system in memory")

// ErrUntrusted is wrapped by the stash's errors about a folder or file that is
// not what it must be.
var ErrUntrusted = errors.New("not a trusted stash")

// Stash keeps one invocation's secrets for its cleanup, which may come when
// they can't be read any more: Base/Unit/Invocation/ID, files of mode 0600 in
// a folder of mode 0700 that belong to the job's user. It holds no descriptor
// and is safe for concurrent use.
type Stash struct {
	Base       string // trusted, as "/run/job-cleanup"
	Unit       string
	Invocation string
	UID, GID   int  // the job's user; only root may give it away
	AnyDisk    bool // take a base that is not in memory
}

// Put keeps a secret and returns its reference. The same source, as a plan
// names it, has the same reference, and a later secret replaces the earlier.
func (s *Stash) Put(source Ref, t Text) (ref string, err error) {
	dir, err := s.open(true)
	if err != nil {
		return "", fmt.Errorf("stash %q: %w", source, err)
	}
	defer unix.Close(dir)
	if !s.AnyDisk {
		if err := inMemory(dir); err != nil {
			return "", fmt.Errorf("stash %q below %q: %w", source, s.Base, err)
		}
	}
	id := StashID(source)
	if err := s.write(dir, id, t); err != nil {
		return "", fmt.Errorf("stash %q: %w", source, err)
	}
	return Ref{Stashed, id}.String(), nil
}

// StashID is the name that Put gives to the secret of a reference.
func StashID(source Ref) string {
	sum := sha256.Sum256([]byte(source.String()))
	return hex.EncodeToString(sum[:8])
}

// write makes the file under another name first: a reader sees all or nothing.
func (s *Stash) write(dir int, id string, t Text) error {
	temp := "." + id + "-" + rand.Text()
	fd, err := openat(dir, temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), id)
	_, err = f.WriteString(t.value)
	if err == nil {
		err = s.give(fd)
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = unix.Renameat(dir, temp, dir, id)
	}
	if err != nil {
		_ = unix.Unlinkat(dir, temp, 0)
	}
	return err
}

// Get returns the secret of a stash: reference's ID. A missing one wraps
// fs.ErrNotExist.
func (s *Stash) Get(id string) (Text, error) {
	if !isComponent(id) {
		return Text{}, fmt.Errorf("stash id: %w", ErrUntrusted)
	}
	dir, err := s.open(false)
	if err != nil {
		return Text{}, err
	}
	defer unix.Close(dir)
	fd, err := openat(dir, id, plain, 0)
	if err != nil {
		return Text{}, fmt.Errorf("stash %q: %w", id, err)
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	if err == nil && (int(st.Uid) != s.UID && st.Uid != 0 || st.Nlink != 1) {
		err = fmt.Errorf("stash %q is of uid %d: %w", id, st.Uid, ErrUntrusted)
	}
	if err != nil {
		unix.Close(fd)
		return Text{}, err
	}
	return readText(os.NewFile(uintptr(fd), id))
}

// Drop removes one secret. That it is not there is no error.
func (s *Stash) Drop(id string) error {
	if !isComponent(id) {
		return fmt.Errorf("stash id: %w", ErrUntrusted)
	}
	dir, err := s.open(false)
	if err == nil {
		defer unix.Close(dir)
		err = unix.Unlinkat(dir, id, 0)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("drop stash %q: %w", id, err)
	}
	return nil
}

// DropAll removes the invocation's secrets and its folder. That they are not
// there is no error.
func (s *Stash) DropAll() error {
	dir, err := s.open(false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("drop stash: %w", err)
	}
	f := os.NewFile(uintptr(dir), s.Invocation)
	defer f.Close()
	names, err := f.Readdirnames(-1)
	for _, name := range names {
		if e := unix.Unlinkat(dir, name, 0); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, fmt.Errorf("drop stash %q: %w", name, e))
		}
	}
	return errors.Join(err, s.removeFolders())
}

// removeFolders removes the invocation's folder, and the unit's when that was
// the last one. A job's user can't: then root's next pass does.
func (s *Stash) removeFolders() error {
	base, err := openat(unix.AT_FDCWD, s.Base, folder, 0)
	if err != nil {
		return err
	}
	defer unix.Close(base)
	unit, err := openat(base, s.Unit, folder|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer unix.Close(unit)
	err = unix.Unlinkat(unit, s.Invocation, unix.AT_REMOVEDIR)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("drop stash folder %q: %w", filepath.Join(s.Unit, s.Invocation), err)
	}
	_ = unix.Unlinkat(base, s.Unit, unix.AT_REMOVEDIR)
	return nil
}
