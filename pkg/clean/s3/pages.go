package s3

import (
	"context"
	"time"

	"job-cleanup/pkg/residue"
)

// pages goes through a listing by its two markers: the last key, and the last
// upload or version of that key. Its zero value is before the first page.
type pages struct {
	key, id string
	begun   bool
	end     bool // of the listing
	stuck   bool // the store gives the same page again
	late    bool // no time for another page
	unclear int  // entries that nothing can be said of
}

// enough is the time that one more page has to have.
const enough = 2 * time.Second

// more reports whether to ask for another page. What was found is worth more
// than the next page in the last seconds of a call.
func (p *pages) more(ctx context.Context) bool {
	if deadline, ok := ctx.Deadline(); ok && p.begun && time.Until(deadline) < enough {
		p.late = p.late || !p.end
	}
	return !p.end && !p.stuck && !p.late
}

// next turns the page.
func (p *pages) next(key, id string, more bool) {
	p.begun, p.end = true, !more
	p.stuck = more && (key == "" && id == "" || key == p.key && id == p.id)
	p.key, p.id = key, id
}

// err says why the listing is not a whole one, nil when it is.
func (p *pages) err(doing, ref string) error {
	switch {
	case p.stuck:
		return residue.Errorf(residue.Retry, residue.Other, "%s %q: the store gives the same page again", doing, ref)
	case p.late:
		return residue.Errorf(residue.Retry, residue.Deadline, "%s %q: no time for all of them", doing, ref)
	case p.unclear > 0:
		return residue.Errorf(residue.Retry, residue.Other, "%s %q: %d entries without a time or an id", doing, ref, p.unclear)
	}
	return nil
}

// text is nil for "", which would be sent as an empty parameter.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func truncated(more *bool) bool { return more != nil && *more }
