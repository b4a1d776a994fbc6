package aws

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/residue"
)

const (
	lockTime = 3 * time.Second // how long we wait for the others of us
	lockStep = 5 * time.Millisecond
)

// lock keeps the others of us away from the folder's files: two cleanups that
// end at once would each write back what the other one cut out. The file itself
// can't be locked, since it is replaced.
func (f *file) lock(ctx context.Context) (unlock func(), err error) {
	fd, err := unix.Openat(int(f.dir.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, residue.Errorf(residue.Retry, residue.Permission, "lock the folder of %q: %w", f.leaf, err)
	}
	end := time.Now().Add(lockTime)
	for {
		err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = unix.Close(fd) }, nil
		}
		if over := residue.Ended(ctx); over != nil {
			_ = unix.Close(fd)
			return nil, over
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) || time.Now().After(end) {
			_ = unix.Close(fd)
			return nil, residue.Errorf(residue.Retry, residue.InUse, "lock the folder of %q: %w", f.leaf, err)
		}
		time.Sleep(lockStep)
	}
}

// replace puts a file with the new text, and the mode and owner of the old one,
// in its place at once. It answers false when the old one changed since it was
// read. What a crash leaves behind has a name that the next one clears away.
func (f *file) replace(text []byte) (done bool, err error) {
	if err := f.loose(); err != nil {
		return false, err
	}
	dir, name := int(f.dir.Fd()), "."+f.leaf+".job-cleanup"
	if err := unix.Unlinkat(dir, name, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		return false, err
	}
	if err := f.write(name, text); err != nil {
		_ = unix.Unlinkat(dir, name, 0)
		return false, err
	}
	same, err := f.unchanged()
	if err == nil && same {
		err = unix.Renameat(dir, name, dir, f.leaf)
	}
	if err != nil || !same {
		_ = unix.Unlinkat(dir, name, 0)
		return false, err
	}
	return true, f.sync()
}

// write makes the new file, readable by nobody else until it is whole.
func (f *file) write(name string, text []byte) error {
	const flags = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(int(f.dir.Fd()), name, flags, 0o600)
	if err != nil {
		return err
	}
	out := os.NewFile(uintptr(fd), name)
	defer out.Close()
	if _, err := out.Write(text); err != nil {
		return err
	}
	if err := unix.Fchown(fd, int(f.stat.Uid), int(f.stat.Gid)); err != nil {
		return err
	}
	if err := unix.Fchmod(fd, f.stat.Mode&0o7777); err != nil { // after the owner: that may clear bits
		return err
	}
	return out.Sync()
}

// sync makes the new name last.
func (f *file) sync() error {
	fd, err := unix.Openat(int(f.dir.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Fsync(fd)
}
