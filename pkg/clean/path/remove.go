package path

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/beneath"
	"job-cleanup/pkg/residue"
)

// Remove removes what its reference and proof tell, and nothing else. What
// stays of a tree is told as one error, with a reason, a count and examples.
func (c *cleaner) Remove(ctx context.Context, r residue.Residue) error {
	return within(ctx, func(ctx context.Context) error {
		if r.Type == typeMount {
			return c.unmount(r)
		}
		return c.remove(ctx, r)
	})
}

func (c *cleaner) remove(ctx context.Context, r residue.Residue) error {
	t, err := c.locate(r)
	if err != nil {
		return err
	}
	defer t.close()
	err = c.take(ctx, &t, r)
	if err == nil || residue.IsGone(err) {
		if failed := beneath.Flush(t.fd, c.ordered); failed != nil {
			return osError(failed, "wait for the disk to forget %q", t.path())
		}
	}
	return err
}

// take removes the target.
func (c *cleaner) take(ctx context.Context, t *target, r residue.Residue) error {
	if t.bare {
		return c.k.rmdirBare(*t)
	}
	if !t.facts.isDir() {
		if t.facts.mountRoot {
			return residue.Errorf(residue.Retry, residue.MountPoint, "%q: something is mounted there", t.path())
		}
		if c.probe.beforeRemove != nil {
			c.probe.beforeRemove(t.path())
		}
		return c.k.unlinkOne(*t)
	}
	if err := c.putOff(t, r); err != nil {
		return err
	}
	fd, err := c.openTop(*t)
	if err != nil {
		return err
	}
	if c.job.Outside {
		if err := c.aside(t); err != nil {
			unix.Close(fd)
			return err
		}
	}
	w := &walk{
		k: c.k, ctx: ctx, path: t.path(), exclude: c.exclude, homes: c.homeIDs(), probe: c.probe,
		idle: c.idle, waits: c.deferred && t.aside(), tally: tally{told: c.went},
	}
	return w.purge(*t, fd)
}

// unlinkOne removes what is no folder and was matched by itself.
func (k kernel) unlinkOne(t target) error {
	errno := unlinkat(t.fd, append([]byte(t.entry), 0), 0)
	switch errno {
	case 0:
		return nil
	case unix.ENOENT:
		return residue.ErrGone
	case unix.EISDIR:
		return residue.Errorf(residue.Retry, residue.Changed, "%q became a folder meanwhile", t.path())
	}
	why, text := k.explain(t.fd, t.entry, errno)
	return residue.Errorf(residue.Retry, why, "%q: %s", t.path(), text)
}

// rmdirBare removes the folder that a recorded mount covered.
func (k kernel) rmdirBare(t target) error {
	switch errno := unlinkat(t.fd, append([]byte(t.entry), 0), unix.AT_REMOVEDIR); errno {
	case 0:
		return nil
	case unix.ENOENT:
		return residue.ErrGone
	case unix.ENOTEMPTY, unix.EEXIST:
		return residue.Errorf(residue.Retry, residue.Changed, "%q: what was mounted there is gone, and nothing proves that what it covered is the job's", t.path())
	default:
		why, text := k.explain(t.fd, t.entry, errno)
		return residue.Errorf(residue.Retry, why, "%q: %s", t.path(), text)
	}
}

// openTop opens the folder to be emptied and checks on the descriptor that it
// is the one that was judged.
func (c *cleaner) openTop(t target) (int, error) {
	fd, err := c.k.step(t.fd, t.entry, readDir)
	if errors.Is(err, unix.EACCES) && c.k.permit(t.fd, t.entry) {
		fd, err = c.k.step(t.fd, t.entry, readDir)
	}
	if err != nil {
		return -1, osError(err, "open %q (uid %d, mode %04o)", t.path(), t.facts.uid, t.facts.perm)
	}
	now, err := c.k.look(fd, "")
	if err != nil || now.dev != t.facts.dev || now.ino != t.facts.ino || !now.btime.Equal(t.facts.btime) {
		unix.Close(fd)
		return -1, residue.Errorf(residue.Retry, residue.Changed, "%q changed while it was looked at", t.path())
	}
	return fd, nil
}

// inode names a folder whatever its path.
type inode struct{ dev, ino uint64 }

// homeIDs are the homes as they stand on disk, for those that a tree holds
// under another name than the one on record.
func (c *cleaner) homeIDs() map[inode]bool {
	ids := map[inode]bool{}
	for _, home := range homesOf(c.job) {
		if id, ok := homeID(home); ok {
			ids[id] = true
		}
	}
	return ids
}

// homeID tells which folder a home is. A dead file server is not asked.
func homeID(home string) (inode, bool) {
	var st unix.Statx_t
	if home == "" || home == "/" || unix.Statx(unix.AT_FDCWD, home, unix.AT_NO_AUTOMOUNT|unix.AT_STATX_DONT_SYNC, unix.STATX_INO, &st) != nil {
		return inode{}, false
	}
	return inode{unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino}, true
}
