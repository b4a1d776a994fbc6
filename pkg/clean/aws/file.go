package aws

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/beneath"
	"job-cleanup/pkg/residue"
)

// maxSize bounds what is read: such a file has a few lines per session.
const maxSize = 1 << 20

// file is a credentials or cache file that was looked at.
type file struct {
	dir    *os.File // its folder, as a place
	leaf   string
	owners []uint32 // whose file it may be
	stat   unix.Stat_t
	born   time.Time // zero where the file system does not tell
	fixed  bool      // chattr +i or +a
	mount  string    // where its file system hangs
	text   []byte
}

func (f *file) close() { _ = f.dir.Close() }

// written is the time of the last change.
func (f *file) written() time.Time { return time.Unix(f.stat.Mtim.Unix()) }

// open reaches and reads the file. The error is an *Error, Gone when the file
// is not there.
func (c *cleaner) open(ctx context.Context, proof map[string]string) (*file, error) {
	if err := residue.Ended(ctx); err != nil {
		return nil, err
	}
	if err := c.meant(proof); err != nil {
		return nil, err
	}
	dir, leaf, err := beneath.Open(c.base, c.rel)
	if err != nil {
		return nil, c.failed(err, proof, "reach")
	}
	f := &file{dir: dir, leaf: leaf, owners: []uint32{0, uint32(os.Geteuid())}}
	if c.job.User != nil {
		f.owners = append(f.owners, c.job.User.UID)
	}
	if err := f.reread(); err != nil {
		f.close()
		return nil, c.failed(err, proof, "read")
	}
	return f, nil
}

// reread reads the file that now has the name. It opens nothing but a regular
// file, and no link.
func (f *file) reread() error {
	fd, err := unix.Openat(int(f.dir.Fd()), f.leaf, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Fstat(fd, &f.stat); err != nil {
		return err
	}
	if err := f.check(fd); err != nil {
		return err
	}
	in, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	f.text, err = io.ReadAll(io.LimitReader(in, maxSize+1))
	if err == nil && len(f.text) > maxSize {
		err = residue.Errorf(residue.Refused, residue.Protected, "%q is larger than 1 MiB", f.leaf)
	}
	return err
}

// check refuses what is no file of the job's, or may be another one too.
func (f *file) check(fd int) error {
	switch {
	case f.stat.Mode&unix.S_IFMT != unix.S_IFREG:
		return residue.Errorf(residue.Refused, residue.Protected, "%q is not a regular file", f.leaf)
	case f.stat.Nlink != 1:
		return residue.Errorf(residue.Refused, residue.Protected, "%q has another name elsewhere", f.leaf)
	case !contains(f.owners, f.stat.Uid):
		return residue.Errorf(residue.Refused, residue.Protected, "%q belongs to uid %d, not to the job's user", f.leaf, f.stat.Uid)
	}
	here, err := beneath.Mount(fd)
	if err != nil {
		return err
	}
	if there, err := beneath.Mount(int(f.dir.Fd())); err != nil || here != there {
		return residue.Errorf(residue.Retry, residue.MountPoint, "something is mounted on %q", f.leaf)
	}
	f.mount = beneath.MountPoint(here)
	return f.more(fd)
}

func contains(uids []uint32, uid uint32) bool {
	for _, u := range uids {
		if u == uid {
			return true
		}
	}
	return false
}

// more learns what only newer kernels and some file systems tell.
func (f *file) more(fd int) error {
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_BTIME, &st); err != nil {
		return err
	}
	if st.Mask&unix.STATX_BTIME != 0 {
		f.born = time.Unix(st.Btime.Sec, int64(st.Btime.Nsec))
	}
	f.fixed = st.Attributes&(unix.STATX_ATTR_IMMUTABLE|unix.STATX_ATTR_APPEND) != 0
	return nil
}

// loose says why the file can't be removed or replaced, nil if nothing keeps it.
func (f *file) loose() error {
	if f.fixed {
		return residue.Errorf(residue.Retry, residue.Immutable, "%q is immutable or append-only", f.leaf)
	}
	return nil
}

// unlink removes the file, for good, if it is still the one that was read.
func (f *file) unlink() error {
	if err := f.loose(); err != nil {
		return err
	}
	if same, err := f.unchanged(); err != nil {
		return err
	} else if !same {
		return residue.Errorf(residue.Retry, residue.InUse, "%q was written while it was judged", f.leaf)
	}
	if err := unix.Unlinkat(int(f.dir.Fd()), f.leaf, 0); err != nil {
		return err
	}
	return f.sync()
}

// unchanged reports whether the name still leads to what was read.
func (f *file) unchanged() (bool, error) {
	var now unix.Stat_t
	err := unix.Fstatat(int(f.dir.Fd()), f.leaf, &now, unix.AT_SYMLINK_NOFOLLOW)
	same := now.Dev == f.stat.Dev && now.Ino == f.stat.Ino && now.Size == f.stat.Size && now.Mtim == f.stat.Mtim && now.Ctim == f.stat.Ctim
	return same, err
}
