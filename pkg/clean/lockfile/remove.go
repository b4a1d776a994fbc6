package lockfile

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/beneath"
	"job-cleanup/pkg/residue"
)

// Remove removes the lock file if it is still the recorded one and its holder
// is still dead. It holds the file lock meanwhile, so nobody can enter between
// the judgement and the end, and it takes the file out of the way before it
// unlinks it: a file that came in its place in that instant is put back.
func (c *cleaner) Remove(ctx context.Context, r residue.Residue) error {
	dir, f, err := c.open(ctx, r.Proof)
	if err != nil {
		return err
	}
	defer dir.Close()
	defer f.Close()
	if _, err := c.judge(f, r.Proof); err != nil {
		return err
	}
	if !f.link {
		if err := c.tolerate(f.take()); err != nil {
			return err
		}
	}
	if same, err := f.unchanged(); err != nil {
		return failed(err, "look at %q again", c.path)
	} else if !same {
		return inUse("%q was written while it was judged", c.path)
	}
	if f.stat.Attributes&unix.STATX_ATTR_IMMUTABLE != 0 {
		return residue.Errorf(residue.Retry, residue.Immutable, "%q is immutable", c.path)
	}
	if err := residue.Ended(ctx); err != nil {
		return err
	}
	return c.unlink(dir, f)
}

// aside is the name that a lock file has for the instant of its removal. It
// follows from the file, so that a later process finds what a crash left.
func aside(leaf string, proof map[string]string) string {
	return ".job-cleanup-" + digest([]byte(leaf + "\x00" + proof["ino"] + "\x00" + proof["btime"]))[:16]
}

func (c *cleaner) unlink(dir *os.File, f *file) error {
	fd, leaf := int(dir.Fd()), filepath.Base(c.rel)
	hidden := aside(leaf, f.proof(""))
	if f.fd.Name() != hidden { // else an earlier removal came this far
		if err := move(fd, leaf, hidden); err != nil && !errors.Is(err, unix.ENOENT) { // or moved by another of us
			return failed(err, "set %q aside", c.path)
		}
	}
	moved, err := look(dir, hidden)
	if errors.Is(err, unix.ENOENT) {
		return residue.ErrGone
	}
	if err == nil {
		defer moved.Close()
		if identity(moved.stat) == identity(f.stat) && digest(moved.content) == digest(f.content) {
			return c.drop(fd, hidden)
		}
	}
	return c.putBack(fd, hidden, leaf)
}

func (c *cleaner) drop(dir int, name string) error {
	err := unix.Unlinkat(dir, name, 0)
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return failed(err, "remove %q", c.path)
	}
	if failure := beneath.Flush(dir, c.ordered); failure != nil {
		return failed(failure, "wait for the disk to forget %q", c.path)
	}
	if err != nil {
		return residue.ErrGone
	}
	return nil
}

// putBack gives a file that was not meant its name again.
func (c *cleaner) putBack(dir int, name, leaf string) error {
	if err := move(dir, name, leaf); err != nil {
		return residue.Errorf(residue.Refused, residue.Changed,
			"%q was replaced twice in an instant; the first of the two stands beside it as %q: %w", c.path, name, err)
	}
	return residue.Errorf(residue.Lost, residue.Changed, "%q was replaced while it was removed", c.path)
}

// move renames a file in its folder and never replaces another one. Where the
// file system lacks such a rename, a second name is made first.
func move(dir int, from, to string) error {
	err := unix.Renameat2(dir, from, dir, to, unix.RENAME_NOREPLACE)
	if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	if err := unix.Linkat(dir, from, dir, to, 0); err != nil {
		return err
	}
	return unix.Unlinkat(dir, from, 0)
}
