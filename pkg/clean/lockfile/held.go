package lockfile

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/residue"
)

// seenHeld looks for a lock on the file without taking one, so that a look
// never makes somebody's flock -n fail. It can miss some (other pid
// namespaces, file systems with device numbers of their own): only take proves
// that a lock is free.
func (f *file) seenHeld() error {
	if f.link {
		return nil
	}
	if err := f.posixHeld(); err != nil {
		return err
	}
	table, err := os.ReadFile("/proc/locks")
	if err != nil {
		return nil
	}
	name := fmt.Sprintf(" %02x:%02x:%d ", f.stat.Dev_major, f.stat.Dev_minor, f.stat.Ino)
	if strings.Contains(string(table), name) {
		return inUse("a process holds a lock on %q or waits for one", f.fd.Name())
	}
	return nil
}

// errNoLocks means that the file system can't tell who holds a lock.
var errNoLocks = errors.New("the file system knows no locks")

// posixHeld asks for fcntl(2) locks of others; asking takes none.
func (f *file) posixHeld() error {
	lock := unix.Flock_t{Type: unix.F_WRLCK}
	err := unix.FcntlFlock(f.fd.Fd(), unix.F_OFD_GETLK, &lock)
	if err != nil {
		return residue.Errorf(residue.Retry, residue.Other, "look for locks on %q: %w: %w", f.fd.Name(), errNoLocks, err)
	}
	if lock.Type != unix.F_UNLCK {
		return inUse("a process holds a lock on %q", f.fd.Name())
	}
	return nil
}

// take takes the file lock, which ends when f is closed. It never waits.
func (f *file) take() error {
	err := unix.Flock(int(f.fd.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	switch {
	case err == nil:
		return f.posixHeld()
	case errors.Is(err, unix.EWOULDBLOCK):
		return inUse("a process holds a lock on %q", f.fd.Name())
	}
	return residue.Errorf(residue.Retry, residue.Other, "lock %q: %w: %w", f.fd.Name(), errNoLocks, err)
}

// remote reports whether processes of other machines may see the file too.
func (f *file) remote() (bool, error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(f.fd.Fd()), &st); err != nil {
		return true, err
	}
	switch uint64(st.Type) {
	case unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.CEPH_SUPER_MAGIC,
		unix.AFS_SUPER_MAGIC, unix.CODA_SUPER_MAGIC, unix.OCFS2_SUPER_MAGIC, unix.V9FS_MAGIC, unix.FUSE_SUPER_MAGIC,
		lustre, gfs2:
		return true, nil
	}
	return false, nil
}

// File systems of several machines that the library has no name for; the
// numbers are those of statfs(2).
const (
	lustre = 0x0bd00bd0
	gfs2   = 0x01161970
)
