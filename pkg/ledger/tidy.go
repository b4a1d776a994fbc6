package ledger

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Tidy removes a unit's folder, or at least the lock files in it, when there is
// no ledger in it. Whoever removes the last ledger does that, unless a crash or
// a power cut comes in between.
func (s *Store) Tidy(ctx context.Context, unit string) error {
	if err := checkName("unit", unit, ""); err != nil {
		return err
	}
	dir, lock, err := s.lock(ctx, unit, appendLock, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	defer lock.Close()
	s.tidy(dir, unit, appendLock)
	return nil
}

// tidy removes a unit's folder when no ledger is left in it. The caller holds
// the lock of the given name; the other one must be free.
func (s *Store) tidy(dir *os.File, unit, held string) {
	if _, err := dir.Seek(0, io.SeekStart); err != nil {
		return
	}
	names, _ := dir.Readdirnames(4)
	if len(names) > 3 {
		return
	}
	for _, name := range names {
		if name == held || name == fresh && slices.Contains(names, appendLock) { // whose ledger is gone
			continue
		}
		if name != unitLock && name != appendLock {
			return
		}
		other, err := openRegular(dir, name, unix.O_RDWR, 0)
		if err != nil || unix.Flock(int(other.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
			return
		}
		defer other.Close()
	}
	top, err := s.top(false)
	if err != nil {
		return
	}
	defer top.Close()
	for _, name := range names {
		_ = unix.Unlinkat(int(dir.Fd()), name, 0)
	}
	if unix.Unlinkat(int(top.Fd()), unit, unix.AT_REMOVEDIR) == nil {
		_ = top.Sync()
	}
}
