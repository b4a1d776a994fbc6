package lockfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/beneath"
	"job-cleanup/pkg/residue"
)

// maxSize bounds what is read: a lock file names a holder, no more.
const maxSize = 64 << 10

// file is a lock file that was looked at: a descriptor, which stays the same
// file whatever becomes of its name, and what stood there.
type file struct {
	fd      *os.File // a regular file open for reading; a link as a place only
	link    bool
	stat    unix.Statx_t
	content []byte
	mount   string // where its file system is mounted
}

func (f *file) Close() error { return f.fd.Close() }

// look opens leaf in dir without following it and without waking anything up:
// a FIFO, a socket or a device is seen by its type before anything is opened.
func look(dir *os.File, leaf string) (*file, error) {
	place, err := unix.Openat(int(dir.Fd()), leaf, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %q: %w", leaf, err)
	}
	f := &file{fd: os.NewFile(uintptr(place), leaf)}
	if err := f.fill(dir); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func (f *file) fill(dir *os.File) error {
	if err := f.restat(); err != nil {
		return err
	}
	here, err := beneath.Mount(int(f.fd.Fd()))
	if err != nil {
		return err
	}
	if there, err := beneath.Mount(int(dir.Fd())); err != nil || here != there {
		return residue.Errorf(residue.Retry, residue.MountPoint, "something is mounted on %q", f.fd.Name())
	}
	switch f.stat.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		f.link = true
	case unix.S_IFREG:
		if err := f.reopen(); err != nil {
			return err
		}
	default:
		return residue.Errorf(residue.Refused, residue.Protected, "%q is neither a regular file nor a link", f.fd.Name())
	}
	f.mount = beneath.MountPoint(here)
	f.content, err = f.read()
	return err
}

// reopen opens the very file that the descriptor is a place of.
func (f *file) reopen() error {
	const flags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", f.fd.Fd()), flags, 0)
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		return inUse("%q is leased", f.fd.Name())
	case errors.Is(err, unix.ENOENT): // of /proc, not of the file
		return residue.Errorf(residue.Retry, residue.Other, "open %q by /proc: no such entry", f.fd.Name())
	case err != nil:
		return fmt.Errorf("read %q: %w", f.fd.Name(), err)
	}
	name := f.fd.Name()
	_ = f.fd.Close()
	f.fd = os.NewFile(uintptr(fd), name)
	return nil
}

func (f *file) restat() error {
	const mask = unix.STATX_BASIC_STATS | unix.STATX_BTIME
	return unix.Statx(int(f.fd.Fd()), "", unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW, mask, &f.stat)
}

// read returns the content as it is now, or the text of a link.
func (f *file) read() ([]byte, error) {
	if f.link {
		buf := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(int(f.fd.Fd()), "", buf)
		return buf[:max(n, 0)], err
	}
	text, err := io.ReadAll(io.NewSectionReader(f.fd, 0, maxSize+1))
	if err == nil && len(text) > maxSize {
		err = residue.Errorf(residue.Refused, residue.Protected, "%q is larger than a lock file", f.fd.Name())
	}
	return text, err
}

// unchanged reports whether file and content are still what they were.
func (f *file) unchanged() (bool, error) {
	before := f.stat
	if err := f.restat(); err != nil {
		return false, err
	}
	text, err := f.read()
	return identity(before) == identity(f.stat) && before.Mtime == f.stat.Mtime && bytes.Equal(text, f.content), err
}

// id tells one file from another as long as the machine does not boot: an
// inode number is given away again, a birth time is not.
type id struct {
	dev, ino uint64
	born     unix.StatxTimestamp
}

// identity takes the time of the last change for file systems that know no
// birth time.
func identity(st unix.Statx_t) id {
	born := st.Btime
	if st.Mask&unix.STATX_BTIME == 0 {
		born = st.Mtime
	}
	return id{unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino, born}
}

func nanoseconds(ts unix.StatxTimestamp) string {
	return strconv.FormatInt(ts.Sec*1e9+int64(ts.Nsec), 10)
}

// stampLag is how much earlier than the clock a file system may stamp a file.
const stampLag = 10 * time.Millisecond

// madeAfter reports whether the file was made after that time, and whether it
// may have been; none is after the zero time.
func (f *file) madeAfter(end time.Time) (certainly, maybe bool) {
	if end.IsZero() {
		return false, false
	}
	stamp := identity(f.stat).born
	born := time.Unix(stamp.Sec, int64(stamp.Nsec))
	return born.After(end), born.After(end.Add(-stampLag))
}

// proof is what identifies the file in a record.
func (f *file) proof(boot string) map[string]string {
	who := identity(f.stat)
	p := map[string]string{
		"dev": strconv.FormatUint(who.dev, 10), "ino": strconv.FormatUint(who.ino, 10), "btime": nanoseconds(who.born),
		"boot": boot, "mount": f.mount,
	}
	if len(f.content) > 0 { // an empty one may still be about to be written
		p["mtime"], p["sha256"] = nanoseconds(f.stat.Mtime), digest(f.content)
	}
	return p
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// is compares the file with a record of it. Device numbers are given anew with
// every boot; then the mount point stands for them.
func (f *file) is(proof map[string]string, boot string) bool {
	now := f.proof(boot)
	where := "dev"
	if proof["boot"] != boot {
		where = "mount"
	}
	for _, key := range []string{where, "ino", "btime"} {
		if now[key] == "" || now[key] != proof[key] {
			return false
		}
	}
	return proof["sha256"] == "" || proof["sha256"] == now["sha256"]
}

// untouched reports whether the file was not written since the record.
func (f *file) untouched(proof map[string]string) bool {
	return proof["mtime"] != "" && proof["mtime"] == nanoseconds(f.stat.Mtime)
}
