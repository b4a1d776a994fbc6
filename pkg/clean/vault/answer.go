package vault

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/hashicorp/vault/api"

	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
)

// phrase is a text by which the server tells things apart that have the same
// status.
type phrase string

const (
	invalidToken    phrase = "invalid token"    // of the caller's own
	badToken        phrase = "bad token"        // of one that was asked about
	invalidAccessor phrase = "invalid accessor" // nobody's
	invalidLease    phrase = "invalid lease"    // nobody's
	batchToken      phrase = "batch tokens cannot be revoked"
	denied          phrase = "permission denied"
	noToken         phrase = "no token found" // a warning: nobody's accessor
)

var phrases = []phrase{invalidToken, badToken, invalidAccessor, invalidLease, batchToken, denied}

// refusal is an answer that says no. Its text is scrubbed.
type refusal struct {
	status int
	said   []phrase
	text   string
}

// Error is the status and what the server said.
func (r *refusal) Error() string { return fmt.Sprintf("answered %d: %s", r.status, r.text) }

// says reports whether err is a refusal with that status and phrase.
func says(err error, status int, p phrase) bool {
	var r *refusal
	if !errors.As(err, &r) || r.status != status {
		return false
	}
	for _, said := range r.said {
		if said == p {
			return true
		}
	}
	return false
}

// invalid reports that the caller's token is not known: revoked or expired.
func invalid(err error) bool {
	return says(err, http.StatusForbidden, denied) && says(err, http.StatusForbidden, invalidToken)
}

// forbidden reports that a policy does not let a caller ask who is known.
func forbidden(err error) bool {
	return says(err, http.StatusForbidden, denied) && !invalid(err)
}

// failed turns an error of the library into one that the engine acts on.
func (d *door) failed(ctx context.Context, err error) error {
	var answered *api.ResponseError
	var certificate *tls.CertificateVerificationError
	var network *url.Error
	text := d.clean(err.Error())
	switch {
	case errors.As(err, &answered):
		return d.refused(answered)
	case errors.Is(ctx.Err(), context.Canceled):
		return residue.Errorf(residue.Retry, residue.Cancelled, "%s", text)
	case ctx.Err() != nil, errors.As(err, &network) && network.Timeout():
		return residue.Errorf(residue.Unreachable, residue.Timeout, "%s", text)
	case errors.As(err, &certificate):
		return residue.Errorf(residue.Retry, residue.Other, "%s", text)
	case errors.As(err, &network):
		return residue.Errorf(residue.Unreachable, residue.NoAnswer, "%s", text)
	}
	return residue.Errorf(residue.Retry, residue.Other, "%s", text)
}

// refused reads what a server answered. Sealed, standby, overloaded: each of
// them may answer otherwise later.
func (d *door) refused(answer *api.ResponseError) error {
	raw := strings.ToLower(strings.Join(answer.Errors, "; "))
	r := &refusal{status: answer.StatusCode, text: d.clean(strings.Join(answer.Errors, "; "))}
	for _, p := range phrases {
		if strings.Contains(raw, string(p)) {
			r.said = append(r.said, p)
		}
	}
	reason := residue.Other
	if r.status == http.StatusForbidden {
		reason = residue.Permission
	}
	return &residue.Error{Class: residue.Retry, Reason: reason, Err: r}
}

// clean makes a server's words fit for a record: on one line, short, without
// the token.
func (d *door) clean(text string) string {
	return secret.Excerpt(text, d.token)
}

// ended is the answer when the context is over before anything was sent.
func ended(ctx context.Context) error {
	switch {
	case ctx.Err() == nil:
		return nil
	case errors.Is(ctx.Err(), context.Canceled):
		return residue.Errorf(residue.Retry, residue.Cancelled, "not sent: %w", ctx.Err())
	}
	return residue.Errorf(residue.Retry, residue.Timeout, "not sent: %w", ctx.Err())
}
