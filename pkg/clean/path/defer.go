package path

import (
	"context"
	"path/filepath"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/residue"
)

// putOff moves a tree out of the way and answers that a sweep has to delete
// it. Nil means that it has to be removed now: nothing was moved then.
//
// One call does it, whatever the tree's size. A crash before it leaves the tree
// in its place, one after it leaves it where entriesOf has it; what is owed was
// written down before either.
func (c *cleaner) putOff(t *target, r residue.Residue) error {
	switch {
	case !c.deferred || c.later == nil || !c.later():
		return nil
	case t.aside():
	case len(c.exclude) > 0 || !provable(r) || !c.movable(t):
		return nil
	default:
		if moved, err := c.rename(t, deferredOf(t.entry, t.facts.ino, t.facts.btime)); !moved {
			return err
		}
	}
	return residue.Errorf(residue.Retry, residue.Deferred, "moved aside as %q, which the next sweep deletes", join(append(t.real[:len(t.real)-1:len(t.real)-1], t.entry)))
}

// provable reports whether a later process, in another boot too, can tell that
// it is this one.
func provable(r residue.Residue) bool {
	return r.Proof[proofBirth] != "" && r.Proof[proofMount] != "" && r.Proof[proofBoot] != ""
}

// movable reports whether a tree may be moved: nothing is mounted on or in it,
// no home is reached through it, and what it holds may stay there for a while.
func (c *cleaner) movable(t *target) bool {
	var fs unix.Statfs_t
	if t.facts.mountRoot || unix.Fstatfs(t.fd, &fs) != nil || !c.hasRoom(fs) {
		return false
	}
	all, err := readMounts(c.k.mountinfo)
	if err != nil {
		return false
	}
	path := join(t.real)
	for _, m := range all {
		if _, in := below(m.point, path); in {
			return false
		}
	}
	return !c.leadsHome(path, t.facts.dev)
}

// leadsHome reports whether a home lies in a tree on the device by its real
// path, /home being a link to there: its people would look for it in vain as
// soon as the tree has another name. Only the homes on the same device are
// looked for, since another one may be a server's.
func (c *cleaner) leadsHome(path string, dev uint64) bool {
	for _, home := range homesOf(c.job) {
		if id, ok := homeID(home); !ok || id.dev != dev {
			continue
		}
		real, err := filepath.EvalSymlinks(home)
		if err != nil {
			return true
		}
		if _, in := below(real, path); in {
			return true
		}
	}
	return false
}

// Aside implements residue.Deferrer.
func (c *cleaner) Aside(ctx context.Context, r residue.Residue) bool {
	if !c.deferred || c.sort != typePath || r.Type != typePath || len(r.Proof) == 0 {
		return false
	}
	aside := false
	err := within(ctx, func(context.Context) error {
		t, err := c.locate(r)
		if err != nil {
			return err
		}
		defer t.close()
		aside = t.aside() && t.facts.isDir() && !t.bare
		return nil
	})
	return err == nil && aside
}
