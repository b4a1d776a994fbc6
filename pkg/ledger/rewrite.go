package ledger

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// compactAt is the size in bytes from which a ledger is worth writing anew.
const compactAt = 1 << 20

// fresh is the name under which a ledger is written anew. There is at most one
// in a folder, since the append lock is held; one that a crash left behind is
// overwritten.
const fresh = ".fresh"

// compact writes a ledger anew without what is closed. One that says something
// we would lose is left as it is.
func (l *Ledger) compact(dir, f *os.File) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	s, err := Replay(f)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	l.compacted = info.Size()
	if s.damaged > 0 || s.newer || len(s.Unknown) > 0 {
		return nil
	}
	text, err := encode(s.snapshot())
	if err != nil || int64(len(text)) > info.Size()/2 {
		return err
	}
	err = writeFresh(dir, f, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	if err != nil {
		return err
	}
	l.compacted = int64(len(text))
	return replace(dir, fresh, l.name())
}

// setAside puts a file with the good lines of a damaged ledger into its place
// and keeps the damaged one under a new name, which it returns.
func (l *Ledger) setAside(dir, f *os.File) (string, error) {
	name, err := freeName(dir, l.invocation)
	if err != nil {
		return "", err
	}
	if err := writeFresh(dir, f, func(w io.Writer) error { return copyGood(w, f) }); err != nil {
		return "", err
	}
	// The good lines get the new name and then trade places with the damaged
	// file: at no moment is there no ledger.
	if err := replace(dir, fresh, name); err != nil {
		return "", err
	}
	fd := int(dir.Fd())
	err = unix.Renameat2(fd, name, fd, l.name(), unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		err = exchange(dir, name, l.name())
	}
	if err != nil {
		return "", pathError("set aside", dir, l.name(), err)
	}
	return name, dir.Sync()
}

// exchange is for file systems without RENAME_EXCHANGE. A crash in the middle
// leaves the good lines under the name fresh and the damaged file, which is
// reported, beside it.
func exchange(dir *os.File, good, ledger string) error {
	fd := int(dir.Fd())
	if err := unix.Renameat(fd, good, fd, fresh); err != nil {
		return err
	}
	if err := unix.Renameat(fd, ledger, fd, good); err != nil {
		return err
	}
	return unix.Renameat(fd, fresh, fd, ledger)
}

// freeName returns the first name for a damaged file that is not taken.
func freeName(dir *os.File, invocation string) (string, error) {
	for n := 1; n <= maxAside; n++ {
		name := asideName(invocation, n)
		var st unix.Stat_t
		err := unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
		if errors.Is(err, fs.ErrNotExist) {
			return name, nil
		}
		if err != nil {
			return "", pathError("stat", dir, name, err)
		}
	}
	return "", fmt.Errorf("%d damaged files of %q are kept already: %w", maxAside, invocation, ErrUntrusted)
}

// copyGood copies the lines that count, byte for byte.
func copyGood(w io.Writer, f *os.File) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	var failed error
	err := scan(f, func(l line) {
		if failed == nil && (l.class == good || l.class == newer || l.class == unknown) {
			_, failed = w.Write(append(l.text, '\n'))
		}
	})
	return errors.Join(failed, err)
}

// writeFresh writes the file named fresh with the mode and group of another
// one, durably.
func writeFresh(dir, like *os.File, content func(io.Writer) error) error {
	if err := unix.Unlinkat(int(dir.Fd()), fresh, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return pathError("remove", dir, fresh, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(like.Fd()), &st); err != nil {
		return pathError("stat", like, "", err)
	}
	f, err := openRegular(dir, fresh, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	if err = content(w); err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = own(f, fs.FileMode(st.Mode&0o777), int(st.Gid))
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		_ = unix.Unlinkat(int(dir.Fd()), fresh, 0)
	}
	return err
}

// replace renames a file durably.
func replace(dir *os.File, from, to string) error {
	if err := unix.Renameat(int(dir.Fd()), from, int(dir.Fd()), to); err != nil {
		return pathError("rename", dir, from, err)
	}
	return dir.Sync()
}
