package beneath

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Flush waits until what was removed from a folder is gone for good: a power
// cut must not bring back what the ledger, on another disk, calls removed.
// ordered tells of a device, as in st_dev, that its changes reach the disk
// before any later one of the ledger; nil stands for no ledger. dir may be open
// as a place only.
//
// A folder that we may not read, and a file system that knows no such wait,
// are no error: nobody could do better there.
func Flush(dir int, ordered func(dev uint64) bool) error {
	var st unix.Stat_t
	if err := unix.Fstat(dir, &st); err != nil || ordered == nil || ordered(st.Dev) {
		return err
	}
	fd, err := unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOENT) { // or gone itself
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	err = unix.Fsync(fd)
	for _, unable := range []error{unix.EINVAL, unix.ENOSYS, unix.ENOTSUP, unix.EROFS} {
		if errors.Is(err, unable) {
			return nil
		}
	}
	return err
}
