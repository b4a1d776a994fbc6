package path

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/residue"
)

// mounted records a mount; a folder that nothing is mounted on is absent.
func (f *finder) mounted(dir int, m match, path string, facts facts) {
	if m.entry != m.name || !f.c.k.isMount(dir, m.name, facts) {
		return
	}
	f.add(typeMount, path, facts)
}

// judgeAny judges a residue of either type.
func (c *cleaner) judgeAny(sort, ref string, want map[string]string, f facts, all mounts) error {
	if sort != typeMount {
		return c.judge(ref, want, f, all)
	}
	if len(want) == 0 {
		return c.judgeMount(ref, f)
	}
	// A mount ends with its boot, and its root folder may be older than the
	// job: what was mounted is told by its device and root folder.
	if want[proofBoot] != bootID() || want[proofKind] != typeMount {
		return residue.Errorf(residue.Lost, residue.Changed, "what is mounted at %q is not what was recorded", ref)
	}
	p := proof(f, all)
	if want[proofDev] != p[proofDev] || want[proofIno] != p[proofIno] || want[proofBirth] != p[proofBirth] {
		return residue.Errorf(residue.Lost, residue.Changed, "what is mounted at %q is not what was recorded", ref)
	}
	return nil
}

// judgeMount accepts a mount that was announced before it was there. Mounts
// keep no time: it counts only while the unit's own hook runs, or by exact
// name in the plan.
func (c *cleaner) judgeMount(ref string, f facts) error {
	if c.tracked == nil {
		return nil
	}
	return c.bornInJob(ref, f)
}

// unmount unmounts what the residue means. Not mounted is gone.
func (c *cleaner) unmount(r residue.Residue) error {
	r.Type = typeMount
	t, err := c.locate(r)
	if err != nil {
		return err
	}
	defer t.close()
	if !c.k.isMount(t.fd, t.entry, t.facts) {
		return residue.ErrGone
	}
	flags := unix.UMOUNT_NOFOLLOW
	if c.lazy {
		flags |= unix.MNT_DETACH
	}
	// By the descriptor of the folder above: one of the mount itself would keep
	// it busy. A link in its place is not followed.
	err = unix.Unmount(fmt.Sprintf("/proc/self/fd/%d/%s", t.fd, t.entry), flags)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EBUSY):
		return residue.Errorf(residue.Retry, residue.InUse, "unmount %q: somebody uses it; Lazy=yes detaches it all the same", t.path())
	case errors.Is(err, unix.EPERM):
		return residue.Errorf(residue.Retry, residue.Permission, "unmount %q: %w", t.path(), err)
	}
	return residue.Errorf(residue.Retry, residue.Other, "unmount %q: %w", t.path(), err)
}
