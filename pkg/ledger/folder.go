package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// top opens the folder of the unit folders.
func (s *Store) top(create bool) (*os.File, error) {
	if create {
		if err := makeAll(s.base, s.baseMode); err != nil {
			return nil, err
		}
	}
	base, err := os.OpenFile(s.base, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if errors.Is(err, fs.ErrPermission) {
		base, err = os.OpenFile(s.base, unix.O_PATH|unix.O_DIRECTORY, 0)
	}
	if err != nil {
		return nil, err
	}
	if s.part == "" {
		return base, nil
	}
	defer base.Close()
	return openFolder(base, s.part, create, s.partMode, -1, true)
}

// folder opens the folder of one unit. One that it makes is synced with the
// first ledger in it.
func (s *Store) folder(unit string, create bool) (*os.File, error) {
	top, err := s.top(create)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	return openFolder(top, unit, create, s.unitMode, s.group, false)
}

// openFolder opens a folder by its name in another one, and makes it, durably
// or not, when that is wanted. It follows no link and returns only what is
// trusted.
func openFolder(in *os.File, name string, create bool, mode fs.FileMode, group int, durable bool) (*os.File, error) {
	made := false
	if create {
		err := unix.Mkdirat(int(in.Fd()), name, uint32(mode.Perm()))
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, pathError("mkdir", in, name, err)
		}
		made = err == nil
	}
	f, err := openAt(in, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if errors.Is(err, fs.ErrPermission) { // of mode 0711: good enough to go through
		f, err = openAt(in, name, unix.O_PATH|unix.O_DIRECTORY, 0)
	}
	if err != nil {
		return nil, err
	}
	err = checkFolder(f)
	if err == nil && create {
		err = own(f, mode, group)
	}
	if err == nil && made && durable {
		err = in.Sync()
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// syncFolders makes a new ledger's name durable: in its folder, and that
// folder's own. Behind the sync of the file itself both cost next to nothing.
func (s *Store) syncFolders(dir *os.File) error {
	if err := dir.Sync(); err != nil {
		return err
	}
	top, err := s.top(false)
	if err != nil {
		return err
	}
	defer top.Close()
	if err := top.Sync(); err != nil && !errors.Is(err, unix.EBADF) { // opened for its path only: not ours, and made by root
		return err
	}
	return nil
}

func checkFolder(f *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return pathError("stat", f, "", err)
	}
	if st.Uid != euid() && st.Uid != 0 {
		return fmt.Errorf("folder %q belongs to uid %d: %w", f.Name(), st.Uid, ErrUntrusted)
	}
	if st.Mode&0o022 != 0 {
		return fmt.Errorf("folder %q can be written by others (mode %#o): %w", f.Name(), st.Mode&0o7777, ErrUntrusted)
	}
	return nil
}

// own gives what is ours the mode, whatever the umask was, and the group. A
// group that we may not give is left: then the group's members can't read.
func own(f *os.File, mode fs.FileMode, group int) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return pathError("stat", f, "", err)
	}
	if st.Uid != euid() {
		return nil
	}
	if group >= 0 && st.Gid != uint32(group) {
		if err := f.Chown(-1, group); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	if st.Mode&0o7777 != uint32(mode.Perm()) {
		return f.Chmod(mode)
	}
	return nil
}

// openAt opens one name in a folder without following a link or waiting for a
// FIFO's other end.
func openAt(in *os.File, name string, flags int, mode fs.FileMode) (*os.File, error) {
	flags |= unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	for {
		fd, err := unix.Openat(int(in.Fd()), name, flags, uint32(mode.Perm()))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ENXIO) {
			return nil, fmt.Errorf("%w: %w", ErrUntrusted, pathError("open", in, name, err))
		}
		if err != nil {
			return nil, pathError("open", in, name, err)
		}
		return os.NewFile(uintptr(fd), filepath.Join(in.Name(), name)), nil
	}
}

// makeAll makes a folder and its parents, each durably.
func makeAll(path string, mode fs.FileMode) error {
	err := os.Mkdir(path, mode)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	parent := filepath.Dir(path)
	if errors.Is(err, fs.ErrNotExist) && parent != path {
		if err = makeAll(parent, mode); err == nil {
			err = os.Mkdir(path, mode)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	in, err := os.Open(parent)
	if err != nil {
		return err
	}
	defer in.Close()
	return in.Sync()
}

func pathError(op string, in *os.File, name string, err error) error {
	return &fs.PathError{Op: op, Path: filepath.Join(in.Name(), name), Err: err}
}
