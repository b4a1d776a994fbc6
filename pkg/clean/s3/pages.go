package s3

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"job-cleanup/pkg/residue"
)

// pages goes through a listing by its two markers: the last key, and the last
// upload or version of that key. Its zero value is before the first page.
type pages struct {
	key, id string
	begun   bool
	encoded bool // keys come encoded as in a URL
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

// encode asks for the same page again with encoded keys, once: XML can't carry
// every key. Without need it isn't asked for, since some stores say that they
// encode and don't.
func (p *pages) encode(err error) bool {
	var garbled *smithy.DeserializationError
	if p.encoded || !errors.As(err, &garbled) {
		return false
	}
	p.encoded = true
	return true
}

// encoding is what a request says about keys.
func (p *pages) encoding() types.EncodingType {
	if p.encoded {
		return types.EncodingTypeUrl
	}
	return ""
}

// decode returns a key or marker of an answer as it is. One that can't be
// decoded is left, and not found then.
func decode(s *string, how types.EncodingType) string {
	if plain, err := url.QueryUnescape(deref(s)); err == nil && how == types.EncodingTypeUrl {
		return plain
	}
	return deref(s)
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
