package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Lock files of a unit folder. The ledgers themselves are not locked: a job
// that may read its armed specs could hold such a lock and keep root from
// writing, but it can't open these.
const (
	unitLock   = ".lock"   // held while the unit's residue is settled
	appendLock = ".append" // held while its ledgers are written
)

// lockWait bounds the wait for a lock when the context does not.
const lockWait = 10 * time.Second

// ErrBusy is wrapped by the error of a lock that was not free in time.
var ErrBusy = errors.New("locked by another process")

// LockUnit takes the lock that arm and sweep hold while they settle a unit's
// residue, and waits for it until the context ends or ten seconds are over.
// The release must be called once.
func (s *Store) LockUnit(ctx context.Context, unit string) (release func(), err error) {
	if err := checkName("unit", unit, ""); err != nil {
		return nil, err
	}
	dir, lock, err := s.lock(ctx, unit, unitLock, true)
	if err != nil {
		return nil, err
	}
	return func() {
		s.tidy(dir, unit, unitLock)
		lock.Close()
		dir.Close()
	}, nil
}

// lock opens a unit's folder and holds one of its lock files. It starts again
// when the file, or its folder, was removed while we waited.
func (s *Store) lock(ctx context.Context, unit, name string, create bool) (dir, lock *os.File, err error) {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	for {
		if dir, err = s.folder(unit, create); err != nil {
			if create && errors.Is(err, fs.ErrNotExist) && ctx.Err() == nil && s.exists() {
				continue // removed between our mkdir and open
			}
			return nil, nil, err
		}
		lock, err = openRegular(dir, name, unix.O_RDWR|unix.O_CREAT, 0o600)
		if errors.Is(err, fs.ErrNotExist) && ctx.Err() == nil { // the folder is gone
			dir.Close()
			continue
		}
		if err == nil {
			if err = flock(ctx, lock); err == nil && named(dir, name, lock) {
				return dir, lock, nil
			}
			lock.Close()
		}
		dir.Close()
		if err != nil {
			return nil, nil, err
		}
	}
}

// exists reports whether the folder above the unit folders is there.
func (s *Store) exists() bool {
	top, err := s.top(false)
	if err == nil {
		top.Close()
	}
	return err == nil
}

// flock polls, since a blocking flock can't be told to stop.
func flock(ctx context.Context, f *os.File) error {
	pause := time.Millisecond
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return pathError("lock", f, "", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrBusy, pathError("lock", f, "", ctx.Err()))
		case <-time.After(pause):
			pause = min(2*pause, 50*time.Millisecond)
		}
	}
}

// named reports whether f is still what its name in dir leads to.
func named(dir *os.File, name string, f *os.File) bool {
	var a, b unix.Stat_t
	return unix.Fstat(int(f.Fd()), &a) == nil &&
		unix.Fstatat(int(dir.Fd()), name, &b, unix.AT_SYMLINK_NOFOLLOW) == nil &&
		a.Dev == b.Dev && a.Ino == b.Ino
}

// openRegular opens a file of ours: regular, of one name, owned by us, or by
// root when it is only read.
func openRegular(dir *os.File, name string, flags int, mode fs.FileMode) (*os.File, error) {
	f, err := openAt(dir, name, flags, mode)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		f.Close()
		return nil, pathError("stat", f, "", err)
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		err = fmt.Errorf("%q is not a regular file: %w", f.Name(), ErrUntrusted)
	case st.Nlink > 1:
		err = fmt.Errorf("%q has a second name: %w", f.Name(), ErrUntrusted)
	case st.Uid != euid() && st.Uid != 0:
		err = fmt.Errorf("%q belongs to uid %d: %w", f.Name(), st.Uid, ErrUntrusted)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
