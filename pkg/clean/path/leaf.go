package path

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/residue"
)

// leaf judges one match.
func (f *finder) leaf(dir int, m match, names, real []string) {
	c := f.c
	path := join(names)
	if c.excluded(names) || c.excluded(real) {
		return
	}
	if _, err := c.rules.admit(names); err != nil {
		f.fail(err)
		return
	}
	if err := c.admitReal(names, real); err != nil {
		f.fail(err)
		return
	}
	facts, err := c.k.look(dir, m.entry)
	switch {
	case errors.Is(err, unix.ENOENT):
		if m.name == m.entry {
			f.missing(dir, names)
		}
		return
	case err != nil:
		f.fail(osError(err, "look at %q", path))
		return
	}
	if c.sort == typeMount {
		f.mounted(dir, m, path, facts)
		return
	}
	if c.pattern.dirOnly && !facts.isDir() {
		if c.pattern.fixed() == len(names) && facts.mode == unix.S_IFLNK {
			f.fail(refuse(residue.Protected, "%q is a link, and the slash at its end means what it points to; without the slash the link goes", c.pattern.text))
		}
		return
	}
	f.add(typePath, path, facts)
}

// admitReal checks the path without links by the same tables.
func (c *cleaner) admitReal(names, real []string) error {
	if slices.Equal(names, real) {
		return nil
	}
	b, _ := c.rules.baseOf(names)
	depth := len(real) - (len(names) - len(b.names))
	if depth < 0 || depth >= len(real) {
		return refuse(residue.OutsideBase, "%q leads to %q", join(names), join(real))
	}
	if why := c.rules.protected(real, base{names: real[:depth], from: b.from}, false); why != "" {
		return refuse(residue.Protected, "%q leads to %q: %s", join(names), join(real), why)
	}
	return nil
}

// add records a match, unless it is provably not this job's.
func (f *finder) add(sort, path string, facts facts) {
	c := f.c
	switch how := hidden(c.job, path); {
	case !c.job.Outside || how == "":
	case how == residue.Private:
		return
	case c.tracked == nil:
		f.fail(residue.Errorf(residue.Retry, residue.Changed, "%q is another one outside of the unit's sandbox", path))
		return
	}
	if end := c.job.End; c.tracked == nil && !end.IsZero() {
		if facts.btime.After(end) {
			return // a later invocation's, which has a plan of its own for it
		}
		if facts.btime.IsZero() || facts.btime.After(end.Add(-birthSlack)) {
			f.fail(residue.Errorf(residue.Retry, residue.Changed, "%q: nothing tells whether it is this invocation's or a later one's", path))
			return
		}
	}
	r := residue.Residue{Type: sort, Ref: path, Proof: proof(facts, f.all)}
	if sort == typeMount {
		r.Proof[proofKind] = typeMount
	}
	if c.tracked != nil {
		if err := c.judgeAny(sort, path, c.tracked.Proof, facts, f.all); err != nil {
			f.fail(err)
			return
		}
		if len(c.tracked.Proof) > 0 {
			r = *c.tracked
		}
		r.Expires = c.tracked.Expires
	}
	c.note(path, facts)
	if r.ID == "" {
		r.Identify()
	}
	f.found = append(f.found, r)
}

// Prepare records the mount and file system that the fixed part of the path
// lies on, so that a file system which is missing later is not taken for an
// empty one.
func (c *cleaner) Prepare(ctx context.Context) (map[string]string, error) {
	var out map[string]string
	err := within(ctx, func(context.Context) error {
		names := c.pattern.names(c.pattern.fixed())
		if c.job.Outside && hidden(c.job, join(names)) != "" {
			return nil // what stands there means nothing to the job
		}
		all, err := readMounts(c.k.mountinfo)
		if err != nil {
			return osError(err, "read the mounts")
		}
		p, err := c.toBase(c.base)
		if err != nil {
			return err
		}
		defer p.close()
		fd := p.fd
		for _, name := range names[len(c.base.names):] {
			if len(p.rest) > 0 {
				break
			}
			next, err := c.k.step(fd, name, pathDir)
			if err != nil {
				break // as near as one gets
			}
			defer unix.Close(next)
			fd = next
		}
		out = c.fileSystem(fd, all)
		if c.deferred {
			room(fd, out)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Prove records what identifies the tracked path now. What is not there yet
// stays an intent.
func (c *cleaner) Prove(ctx context.Context) (residue.Residue, error) {
	if c.tracked == nil {
		return residue.Residue{}, errors.New("nothing is tracked")
	}
	r := *c.tracked
	r.Ref = join(c.pattern.names(len(c.pattern.parts)))
	r.Proof = nil
	blank := &cleaner{k: c.k, job: c.job, rules: c.rules, sort: c.sort, pattern: c.pattern, base: c.base, most: 1}
	found, err := blank.Find(ctx)
	if len(found) > 0 {
		r.Proof = found[0].Proof
	} else if err != nil {
		return residue.Residue{}, err
	}
	r.Identify()
	return r, nil
}
