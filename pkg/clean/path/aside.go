package path

import (
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/residue"
)

// asidePrefix is put before the name of a folder that is moved out of the way
// before it is emptied, so that the unit's next run finds the name free. Find
// and Remove know a folder by either name.
const asidePrefix = ".job-cleanup~"

// asideOf is a folder's name while a sweep empties it.
func asideOf(name string) string { return asidePrefix + name }

// maxName is how many bytes a name may have (NAME_MAX).
const maxName = 255

// deferredOf is a folder's name while it waits for a sweep. It tells the
// folder's inode and birth, and so is no other's: the tree of the next run, put
// off too before the first is deleted, finds its own name free. Whoever has the
// proof finds it again, whatever moment we were killed at.
func deferredOf(name string, ino uint64, born time.Time) string {
	tail := "~" + strconv.FormatUint(ino, 16) + "-" + strconv.FormatUint(uint64(born.UnixNano()), 16)
	return asidePrefix + name[:min(len(name), maxName-len(asidePrefix)-len(tail))] + tail
}

// entriesOf are the names that a residue may stand under.
func entriesOf(name string, r residue.Residue) []string {
	all := []string{name, asideOf(name)}
	ino, err := strconv.ParseUint(r.Proof[proofIno], 10, 64)
	if err != nil {
		return all
	}
	if born, err := time.Parse(time.RFC3339Nano, r.Proof[proofBirth]); err == nil {
		all = append(all, deferredOf(name, ino, born))
	}
	return all
}

// putOff reports whether an entry is a folder that waits for a sweep: one of
// such a name whose inode and birth are those in its name.
func (k kernel) putOff(dir int, entry string) bool {
	rest, ok := strings.CutPrefix(entry, asidePrefix)
	at := strings.LastIndexByte(rest, '~')
	if !ok || at < 0 {
		return false
	}
	f, err := k.look(dir, entry)
	return err == nil && f.isDir() && entry == deferredOf(rest[:at], f.ino, f.btime)
}

// aside renames the entry out of the way. Where that can't be done the tree is
// removed in its place.
func (c *cleaner) aside(t *target) error {
	if t.aside() || len(c.exclude) > 0 {
		return nil
	}
	_, err := c.rename(t, asideOf(t.entry))
	return err
}

// rename gives the entry another name in its folder, and checks that what was
// moved is what was judged. It reports false, and moved nothing, when that
// can't be done here.
func (c *cleaner) rename(t *target, to string) (bool, error) {
	if c.probe.beforeAside != nil {
		c.probe.beforeAside(t.path())
	}
	name := t.entry
	if unix.Renameat2(t.fd, name, t.fd, to, unix.RENAME_NOREPLACE) != nil {
		return false, nil
	}
	if c.probe.afterAside != nil {
		c.probe.afterAside(t.path())
	}
	if c.isTarget(t, to) {
		t.entry = to
		return true, nil
	}
	// Somebody changed it at the last moment: what was moved goes back. A file
	// system that numbers things by their names has it as it was then.
	back := unix.Renameat2(t.fd, to, t.fd, name, unix.RENAME_NOREPLACE) == nil
	if back && c.isTarget(t, name) {
		return false, nil
	}
	return false, residue.Errorf(residue.Retry, residue.Changed, "%q changed while it was moved aside", t.path())
}

// isTarget looks, by a descriptor, whether the entry is the folder that was
// judged.
func (c *cleaner) isTarget(t *target, entry string) bool {
	fd, err := c.k.step(t.fd, entry, pathDir)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	f, err := c.k.look(fd, "")
	return err == nil && f.dev == t.facts.dev && f.ino == t.facts.ino && f.btime.Equal(t.facts.btime)
}
