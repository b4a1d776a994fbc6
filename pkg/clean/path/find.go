package path

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/residue"
)

// Find lists what the pattern matches, by path in byte order, each with its
// proof. A spec that tracks a residue finds that one or nothing.
func (c *cleaner) Find(ctx context.Context) ([]residue.Residue, error) {
	var found []residue.Residue
	err := within(ctx, func(ctx context.Context) error {
		f := finder{c: c, ctx: ctx}
		err := f.run()
		found = f.found
		return err
	})
	if e := residue.AsError(err); e != nil && e.Reason == residue.Timeout {
		return nil, err // the finder may still be at it
	}
	return found, err
}

// finder is one pass of Find.
type finder struct {
	c     *cleaner
	ctx   context.Context
	all   mounts
	found []residue.Residue
	errs  []error
}

func (f *finder) run() error {
	c := f.c
	if c.job.Outside && hidden(c.job, c.pattern.front()) == residue.Private {
		return nil // it goes with its unit
	}
	all, err := readMounts(c.k.mountinfo)
	if err != nil {
		all = nil // then proofs have no mount point, and nothing counts as absent
	}
	f.all = all
	p, err := c.toBase(c.base)
	if err != nil {
		return err
	}
	defer p.close()
	names := slices.Clone(c.base.names)
	if len(p.rest) > 0 {
		return c.absent(p.fd, c.pattern.text, c.recorded())
	}
	f.down(p.fd, names, p.real)
	return worst(f.errs)
}

// front is the literal front of the pattern.
func (p pattern) front() string { return join(p.names(p.fixed())) }

// recorded is what was observed when the residue, or its place, was there.
func (c *cleaner) recorded() map[string]string {
	if c.tracked != nil && placeOf(*c.tracked)[proofMount] != "" {
		return c.tracked.Proof
	}
	if c.facts[factView] == "outside" && !c.job.Outside && hidden(c.job, c.pattern.front()) != "" {
		return nil
	}
	return c.facts
}

// toBase opens a base and checks that its links did not lead to where nothing
// may go.
func (c *cleaner) toBase(b base) (place, error) {
	p, err := c.k.reach(b.names)
	if err != nil {
		return p, err
	}
	real := append(slices.Clip(p.real), p.rest...)
	if slices.Equal(real, b.names) || slices.Contains(shared, join(real)) {
		return p, nil
	}
	if why := c.rules.protected(real, base{names: real, from: b.from}, true); why != "" {
		p.close()
		return p, refuse(residue.Protected, "%q leads to %q: %s", join(b.names), join(real), why)
	}
	return p, nil
}

// down matches the rest of the pattern in the folder fd; names is its path as
// the plan writes it, real without links.
func (f *finder) down(fd int, names, real []string) {
	if err := residue.Ended(f.ctx); err != nil {
		f.errs = append(f.errs, err)
		return
	}
	at := len(names)
	part := f.c.pattern.parts[at]
	last := at == len(f.c.pattern.parts)-1
	matches, err := f.candidates(fd, part, last)
	if err != nil {
		f.fail(osError(err, "list %q", join(names)))
		return
	}
	if len(matches) == 0 {
		f.missing(fd, append(slices.Clip(names), part.text()))
		return
	}
	for _, m := range matches {
		if len(f.found) >= f.c.most {
			f.fail(residue.Errorf(residue.Retry, residue.Other, "%q matches more than %d names; the next pass takes the rest", f.c.pattern.text, f.c.most))
			return
		}
		if last {
			f.leaf(fd, m, append(slices.Clip(names), m.name), append(slices.Clip(real), m.name))
		} else {
			f.enter(fd, append(slices.Clip(names), m.name), append(slices.Clip(real), m.name))
		}
	}
}

// text is the component for messages.
func (c part) text() string {
	if c.literal() {
		return c.name
	}
	return "*"
}

// match is a name to look at. A tree that was renamed aside to be removed is
// found under its aside name and still called by its own.
type match struct{ name, entry string }

// candidates are the names in fd that the component may mean, sorted.
func (f *finder) candidates(fd int, c part, last bool) ([]match, error) {
	if c.literal() {
		list := []match{{c.name, c.name}}
		if last && f.c.k.exists(fd, asideOf(c.name)) {
			list = append(list, match{c.name, asideOf(c.name)})
		}
		return list, nil
	}
	var list []match
	_, err := f.c.k.list(fd, f.c.most, func(entry string) bool {
		if f.c.k.putOff(fd, entry) {
			return false // some job's ledger has it, and patterns don't
		}
		name := entry
		if last {
			name = strings.TrimPrefix(entry, asidePrefix)
		}
		fits := c.matches(name, false) || c.matches(entry, false)
		if fits {
			list = append(list, match{name, entry})
		}
		return fits
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b match) int {
		return strings.Compare(a.name+"\x00"+a.entry, b.name+"\x00"+b.entry)
	})
	return list, nil
}

// enter goes down into a folder that a component means.
func (f *finder) enter(parent int, names, real []string) {
	name := names[len(names)-1]
	if f.c.excluded(names) || f.c.excluded(real) {
		return
	}
	fd, err := f.c.k.step(parent, name, pathDir)
	switch {
	case err == nil:
		defer unix.Close(fd)
		f.down(fd, names, real)
	case errors.Is(err, unix.ENOENT):
		f.missing(parent, names)
	case errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP):
		if len(names) > f.c.pattern.fixed() {
			return // a wildcard means folders here
		}
		if link, err := f.c.k.look(parent, name); err == nil && link.mode == unix.S_IFLNK {
			f.fail(refuse(residue.OutsideBase, "%q is a link; below a base none is followed", join(names)))
			return
		}
		f.missing(parent, names)
	default:
		f.fail(osError(err, "open %q", join(names)))
	}
}

// missing notes that names is not in the folder dir.
func (f *finder) missing(dir int, names []string) {
	path := join(names)
	if f.c.job.Outside && hidden(f.c.job, path) == residue.Private {
		return
	}
	if err := f.c.absent(dir, path, f.c.recorded()); err != nil {
		f.fail(err)
	}
}

func (f *finder) fail(err error) { f.errs = append(f.errs, err) }

// worst makes one error of many. Owed wins over refused, since a refused spec
// is not looked at again.
func worst(errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	first := residue.AsError(errs[0])
	for _, err := range errs {
		if e := residue.AsError(err); e.Class == residue.Retry && first.Class != residue.Retry {
			first = e
		}
	}
	if len(errs) == 1 {
		return first
	}
	return &residue.Error{Class: first.Class, Reason: first.Reason, Err: fmt.Errorf("%w (and %d more)", first.Err, len(errs)-1)}
}
