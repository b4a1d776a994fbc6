package path

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/residue"
)

// target is a thing to be removed: an entry of an open folder.
type target struct {
	place
	entry string   // its name in the folder now
	names []string // its path
	real  []string // its path without links
	facts facts
	bare  bool // a mount was recorded, and this is the folder that it covered: only when empty
}

func (t target) path() string { return join(t.names) }

// aside reports whether it stands under an aside name.
func (t target) aside() bool { return t.entry != t.names[len(t.names)-1] }

// locate finds the entry that the residue means, and checks everything that
// speaks against touching it. Gone is *residue.Error of class Gone.
func (c *cleaner) locate(r residue.Residue) (target, error) {
	t := target{}
	var err error
	if t.names, err = split(r.Ref); err != nil {
		return t, refuse(residue.Protected, "%w", err)
	}
	b, err := c.rules.admit(t.names)
	if err != nil {
		return t, err
	}
	if c.excluded(t.names) {
		return t, refuse(residue.Protected, "%q: Exclude= names it", t.path())
	}
	if c.job.Outside && hidden(c.job, t.path()) == residue.Private {
		return t, residue.ErrGone
	}
	if t.place, err = c.toBase(b); err != nil {
		return t, err
	}
	if err := c.approach(&t, t.names[len(b.names):], r); err != nil {
		t.close()
		return t, err
	}
	return t, nil
}

// approach goes from the base to the folder that holds the entry.
func (c *cleaner) approach(t *target, names []string, r residue.Residue) error {
	if len(t.rest) > 0 {
		return c.gone(t, r)
	}
	t.entry = names[len(names)-1]
	for _, name := range names[:len(names)-1] {
		fd, err := c.k.step(t.fd, name, pathDir)
		switch {
		case err == nil:
			t.enter(fd, name)
		case errors.Is(err, unix.ENOENT):
			return c.gone(t, r)
		case errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP):
			if link, err := c.k.look(t.fd, name); err == nil && link.mode == unix.S_IFLNK {
				return refuse(residue.OutsideBase, "%q leads through a link; below a base none is followed", t.path())
			}
			return c.gone(t, r)
		default:
			return osError(err, "open %q on the way to %q", name, t.path())
		}
	}
	t.real = append(t.place.real, t.entry)
	if c.excluded(t.real) {
		return refuse(residue.Protected, "%q: Exclude= names it", join(t.real))
	}
	if err := c.admitReal(t.names, t.real); err != nil {
		return err
	}
	return c.choose(t, r)
}

// gone proves that the residue is not there any more.
func (c *cleaner) gone(t *target, r residue.Residue) error {
	if err := c.absent(t.fd, t.path(), placeOf(r)); err != nil {
		return err
	}
	return residue.ErrGone
}

// placeOf is what the proof tells about where a residue was. A mount's own
// mount point tells nothing about that.
func placeOf(r residue.Residue) map[string]string {
	if r.Type == typeMount || r.Proof[proofMount] == r.Ref {
		return nil
	}
	return r.Proof
}

// choose takes the entry under its own name or an aside name, whichever the
// proof fits.
func (c *cleaner) choose(t *target, r residue.Residue) error {
	all, err := readMounts(c.k.mountinfo)
	if err != nil {
		all = nil
	}
	var refusal error
	for _, entry := range entriesOf(t.entry, r) {
		facts, err := c.k.look(t.fd, entry)
		if err == nil && r.Type == typeMount && !c.k.isMount(t.fd, entry, facts) {
			continue // unmounted already
		}
		switch {
		case errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENAMETOOLONG) && entry != t.entry:
			continue
		case err != nil:
			return osError(err, "look at %q", t.path())
		}
		err = c.judgeAny(r.Type, t.path(), r.Proof, facts, all)
		// What was recorded was mounted there. Its bare folder may go with it.
		t.bare = err != nil && r.Type != typeMount && r.Proof[proofMount] == t.path() && facts.isDir() && !facts.mountRoot
		if err == nil || t.bare {
			t.entry, t.facts = entry, facts
			return c.slash(t, r)
		}
		if refusal == nil {
			refusal = err
		}
	}
	if refusal != nil {
		return refusal
	}
	return c.gone(t, r)
}

// slash refuses a link that is written with a slash at its end, and homes that
// are known under another name.
func (c *cleaner) slash(t *target, r residue.Residue) error {
	if strings.HasSuffix(r.Ref, "/") && !t.facts.isDir() {
		return refuse(residue.Protected, "%q is no folder, but is written with a slash at its end", r.Ref)
	}
	if t.facts.isDir() && c.homeIDs()[inode{t.facts.dev, t.facts.ino}] {
		return refuse(residue.Protected, "%q is a home folder", t.path())
	}
	return nil
}
