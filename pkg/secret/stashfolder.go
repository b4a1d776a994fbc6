package secret

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// folder opens a folder to go through it, also one that can't be listed.
const folder = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC

// open returns a descriptor of the invocation's folder.
func (s *Stash) open(create bool) (int, error) {
	if !isComponent(s.Unit) || !isComponent(s.Invocation) {
		return -1, fmt.Errorf("unit %q or invocation %q is not usable as a folder: %w", s.Unit, s.Invocation, ErrUntrusted)
	}
	if create {
		if err := os.Mkdir(s.Base, 0o711); err == nil {
			if err := os.Chmod(s.Base, 0o711); err != nil { // whatever the umask was
				return -1, err
			}
		} else if !errors.Is(err, fs.ErrExist) {
			return -1, err
		}
	}
	base, err := openat(unix.AT_FDCWD, s.Base, folder, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(base)
	unit, made, err := below(base, s.Unit, create, folder)
	if err != nil {
		return -1, err
	}
	defer unix.Close(unit)
	if made {
		err = unix.Fchmodat(base, s.Unit, 0o711, 0)
	}
	if err == nil {
		err = ownedBy(unit, 0o022, 0, os.Geteuid())
	}
	if err != nil {
		return -1, err
	}
	dir, made, err := below(unit, s.Invocation, create, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC)
	if err != nil {
		return -1, err
	}
	if made {
		err = errors.Join(unix.Fchmod(dir, 0o700), s.give(dir))
	}
	if err == nil {
		err = ownedBy(dir, 0o077, s.UID)
	}
	if err != nil {
		unix.Close(dir)
		return -1, err
	}
	return dir, nil
}

// below opens a folder in another one without following a link, and makes it
// when that is wanted.
func below(in int, name string, create bool, flags int) (fd int, made bool, err error) {
	if create {
		err := unix.Mkdirat(in, name, 0o700)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return -1, false, err
		}
		made = err == nil
	}
	fd, err = openat(in, name, flags|unix.O_NOFOLLOW, 0)
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		err = fmt.Errorf("%q is not a folder: %w", name, ErrUntrusted)
	}
	return fd, made, err
}

// give hands a file or folder to the job's user.
func (s *Stash) give(fd int) error {
	if s.UID == os.Geteuid() {
		return nil
	}
	return unix.Fchown(fd, s.UID, s.GID)
}

// ownedBy accepts a folder of one of the owners without the forbidden bits.
func ownedBy(fd int, forbidden uint32, owners ...int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	for _, uid := range owners {
		if int(st.Uid) == uid && st.Mode&forbidden == 0 {
			return nil
		}
	}
	return fmt.Errorf("folder of uid %d and mode %#o: %w", st.Uid, st.Mode&0o7777, ErrUntrusted)
}

// inMemory reports whether what is written below a folder stays off the disks,
// swap apart.
func inMemory(dir int) error {
	var st unix.Statfs_t
	if err := unix.Fstatfs(dir, &st); err != nil {
		return err
	}
	if kind := int64(st.Type); kind != unix.TMPFS_MAGIC && kind != unix.RAMFS_MAGIC {
		return ErrNotInMemory
	}
	return nil
}
