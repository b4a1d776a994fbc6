package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/residue"
)

// Give makes a unit's folder in a store of Jobs, as root, and gives it to the
// job's user. A folder of another user is taken from them only when nothing is
// in it, or when the new one is a dynamic user: then its ledgers are handed
// over too, since nobody else could ever settle them. Otherwise it is an error
// that wraps ErrUntrusted. No file in the folder is read or written.
func (s *Store) Give(ctx context.Context, unit string, to residue.Identity) error {
	if err := checkName("unit", unit, ""); err != nil {
		return err
	}
	top, err := s.top(true)
	if err != nil {
		return err
	}
	defer top.Close()
	err = unix.Mkdirat(int(top.Fd()), unit, uint32(s.unitMode.Perm()))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return pathError("mkdir", top, unit, err)
	}
	dir, err := openAt(top, unit, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer dir.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &st); err != nil {
		return pathError("stat", dir, "", err)
	}
	if st.Uid != to.UID {
		if err := handOver(ctx, dir, st.Uid, to); err != nil {
			return err
		}
	}
	if err := dir.Chown(int(to.UID), int(to.GID)); err != nil {
		return err
	}
	if err := dir.Chmod(s.unitMode); err != nil {
		return err
	}
	return top.Sync()
}

// handOver gives what a user left in a folder to the next one.
func handOver(ctx context.Context, dir *os.File, from uint32, to residue.Identity) error {
	for name, err := range names(ctx, dir) {
		if err != nil {
			return err
		}
		if !to.Dynamic || to.UID == 0 || from == 0 {
			return fmt.Errorf("folder %q with ledgers belongs to uid %d: %w", dir.Name(), from, ErrUntrusted)
		}
		if err := chown(dir, name, from, to); err != nil {
			return err
		}
	}
	for _, name := range []string{unitLock, appendLock, fresh} { // a process of theirs may hold them
		if err := unix.Unlinkat(int(dir.Fd()), name, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return pathError("remove", dir, name, err)
		}
	}
	return nil
}

// Prune removes a unit's folder when it is empty, which its owner may not do in
// a store of Jobs. The unit must not be active, or it could record nothing any
// more; hold its lock in the store of Root. A folder with something in it
// stays, and is no error.
func (s *Store) Prune(unit string) error {
	if err := checkName("unit", unit, ""); err != nil {
		return err
	}
	top, err := s.top(false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer top.Close()
	err = unix.Unlinkat(int(top.Fd()), unit, unix.AT_REMOVEDIR)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTEMPTY):
		return nil
	case err != nil:
		return pathError("remove", top, unit, err)
	}
	return top.Sync()
}

// chown gives a regular file of one user to another. The descriptor pins the
// file whose owner was looked at, and O_PATH does not open it. Files of others
// are left.
func chown(dir *os.File, name string, from uint32, to residue.Identity) error {
	f, err := openAt(dir, name, unix.O_PATH, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return pathError("stat", f, "", err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink != 1 || st.Uid != from {
		return nil
	}
	err = unix.Fchownat(int(f.Fd()), "", int(to.UID), int(to.GID), unix.AT_EMPTY_PATH)
	if err != nil {
		return pathError("chown", f, "", err)
	}
	return nil
}
