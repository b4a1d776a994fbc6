package path

import (
	"fmt"
	"slices"

	"job-cleanup/pkg/residue"
)

// origin says who named a base, weakest first.
type origin int

const (
	fromShared  origin = iota // everybody's: /tmp
	fromPlan                  // Within=
	fromJob                   // a folder that the manager made for this job
	fromScratch               // one of the scratch folders, named by Within=
	fromNobody                // no base is this strong
)

// base is a folder below which a job may have left things. It is never
// removed itself.
type base struct {
	names []string
	from  origin
	crowd bool // others put their things there too
}

// rules are the safety rules for one spec that need no look at the world.
type rules struct {
	bases []base
	homes [][]string
}

// newRules collects the bases. A Within= that is protected is refused; a
// folder of the job that is protected is no base.
func newRules(job residue.Job, within []string) (*rules, error) {
	r := &rules{}
	for _, home := range homesOf(job) {
		if names, err := split(home); err == nil && len(names) > 0 {
			r.homes = append(r.homes, names)
		}
	}
	for _, text := range shared {
		r.add(text, fromShared, true)
	}
	if job.UserBus && job.User != nil {
		r.add(fmt.Sprintf("%s/%d", sessions, job.User.UID), fromJob, true)
	}
	for _, text := range within {
		if err := r.within(text); err != nil {
			return nil, err
		}
	}
	for _, text := range job.Bases {
		b := base{from: fromJob}
		var err error
		if b.names, err = split(text); err == nil && len(b.names) > 0 && r.protected(b.names, b, true) == "" {
			r.bases = append(r.bases, b)
		}
	}
	return r, nil
}

func homesOf(job residue.Job) []string {
	homes := slices.Clone(job.Homes)
	if job.User != nil {
		homes = append(homes, job.User.Home)
	}
	return homes
}

// add takes a base from our own tables, which is not checked.
func (r *rules) add(text string, from origin, crowd bool) {
	names, err := split(text)
	if err != nil {
		panic(err)
	}
	r.bases = append(r.bases, base{names: names, from: from, crowd: crowd})
}

// within takes a base from the plan.
func (r *rules) within(text string) error {
	b := base{from: fromPlan}
	var err error
	if b.names, err = split(text); err != nil {
		return refuse(residue.Protected, "Within=: %w", err)
	}
	if slices.Contains(shared, join(b.names)) {
		return nil
	}
	if isScratch(b.names) {
		b.from, b.crowd = fromScratch, true
	} else if why := r.protected(b.names, b, true); why != "" {
		return refuse(residue.Protected, "Within=%q: %s", text, why)
	}
	r.bases = append(r.bases, b)
	return nil
}

func isScratch(names []string) bool {
	return slices.ContainsFunc(scratch(), func(p pattern) bool {
		return len(p.parts) == len(names) && p.covers(names, false)
	})
}

// covers reports whether the shorter of pattern and names is a front part of
// the other one.
func (p pattern) covers(names []string, dots bool) bool {
	for i := range min(len(names), len(p.parts)) {
		if !p.parts[i].matches(names[i], dots) {
			return false
		}
	}
	return true
}

// protected tells why names must not be removed, or must not serve as a base,
// when b is the base it would go by; "" when nothing speaks against it.
func (r *rules) protected(names []string, b base, asBase bool) string {
	path := join(names)
	if len(names) == 0 {
		return `"/" is the whole system`
	}
	for _, home := range r.homes {
		if !hasFront(home, names) {
			continue
		}
		if len(home) > len(names) {
			return fmt.Sprintf("%q holds the home folder %q", path, join(home))
		}
		// A service's user often lives in the service's own state folder.
		if !asBase || b.from != fromJob {
			return fmt.Sprintf("%q is a home folder", path)
		}
	}
	for _, other := range r.bases {
		switch {
		case asBase || !hasFront(other.names, names):
		case len(other.names) == len(names):
			return fmt.Sprintf("%q itself stays: only what lies below it may go", path)
		default:
			return fmt.Sprintf("%q holds the base %q", path, join(other.names))
		}
	}
	for _, z := range zones() {
		if !z.pattern.covers(names, true) {
			continue
		}
		switch {
		case len(names) < len(z.pattern.parts):
			return fmt.Sprintf("%q holds %q, which belongs to the system", path, z.pattern.text)
		case len(names) == len(z.pattern.parts):
			return fmt.Sprintf("%q belongs to the system", path)
		case !z.itself && (b.from < z.opens || len(b.names) <= len(z.pattern.parts)):
			return fmt.Sprintf("%q lies in %q, which belongs to the system", path, z.pattern.text)
		}
	}
	return ""
}

// hasFront reports whether front is all of names or its first components.
func hasFront(names, front []string) bool {
	return len(front) <= len(names) && slices.Equal(names[:len(front)], front)
}

// baseOf returns the deepest base strictly above names.
func (r *rules) baseOf(names []string) (base, bool) {
	best, found := base{}, false
	for _, b := range r.bases {
		if len(b.names) >= len(names) || !hasFront(names, b.names) {
			continue
		}
		if !found || len(b.names) > len(best.names) || len(b.names) == len(best.names) && b.from > best.from {
			best, found = b, true
		}
	}
	return best, found
}

// admit returns the base that names may be removed by, or why not.
func (r *rules) admit(names []string) (base, error) {
	b, found := r.baseOf(names)
	if why := r.protected(names, b, false); why != "" {
		return b, refuse(residue.Protected, "%s", why)
	}
	if !found {
		return b, refuse(residue.OutsideBase, "%q is not below /tmp, /var/tmp, /run, a folder of the job's own or one that Within= names", join(names))
	}
	return b, nil
}

// admitPattern does the same for a pattern: its base must stand in the
// literal front, and every match is admitted again by itself.
func (r *rules) admitPattern(p pattern) (base, error) {
	fixed := p.fixed()
	if fixed == len(p.parts) {
		return r.admit(p.names(fixed))
	}
	b, found := r.baseOf(append(p.names(fixed), "*"))
	if !found {
		return b, refuse(residue.OutsideBase, "%q: what stands before the first wildcard is not /tmp, /var/tmp, /run, a folder of the job's own, one that Within= names, or below one", p.text)
	}
	if b.crowd && !p.parts[len(b.names)].specific() {
		return b, refuse(residue.Protected, "%q takes everything in %q, which others use too", p.text, join(b.names))
	}
	return b, nil
}

func refuse(why residue.Reason, format string, args ...any) *residue.Error {
	return residue.Errorf(residue.Refused, why, format, args...)
}
