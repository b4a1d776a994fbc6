package consul

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/hashicorp/consul/api"

	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
)

// failed turns an error of the library into one that the engine acts on.
func (s *site) failed(ctx context.Context, err error) error {
	var answered api.StatusError
	var certificate *tls.CertificateVerificationError
	var network *url.Error
	text := s.clean(err.Error())
	switch {
	case errors.As(err, &answered):
		return s.refused(answered.Code, answered.Body)
	case errors.Is(ctx.Err(), context.Canceled):
		return residue.Errorf(residue.Retry, residue.Cancelled, "%s", text)
	case ctx.Err() != nil, errors.As(err, &network) && network.Timeout():
		return residue.Errorf(residue.Unreachable, residue.Timeout, "%s", text)
	case errors.As(err, &certificate):
		return residue.Errorf(residue.Retry, residue.Other, "%s", text)
	case errors.As(err, &network):
		return residue.Errorf(residue.Unreachable, residue.NoAnswer, "%s", text)
	case denied(err.Error()):
		return residue.Errorf(residue.Retry, residue.Permission, "%s", text)
	}
	return residue.Errorf(residue.Retry, residue.Other, "%s", text)
}

// refusal is an answer that says no. Its text is scrubbed.
type refusal struct {
	status int
	text   string
}

// Error is the status and what the server said.
func (r *refusal) Error() string { return fmt.Sprintf("answered %d: %s", r.status, r.text) }

// refused reads what an agent answered. One that is no server passes a
// refusal of its server on as status 500.
func (s *site) refused(status int, body string) error {
	e := &residue.Error{Class: residue.Retry, Reason: residue.Other, Err: &refusal{status, s.clean(body)}}
	if status == http.StatusForbidden || denied(body) {
		e.Reason = residue.Permission
	}
	return e
}

// denied reports whether a server's words are about rights.
func denied(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "permission denied") || strings.Contains(text, "acl not found")
}

// hasStatus reports whether err is a refusal with that status.
func hasStatus(err error, status int) bool {
	var r *refusal
	return errors.As(err, &r) && r.status == status
}

// clean makes a server's words fit for a record: on one line, short, without
// the token.
func (s *site) clean(text string) string {
	return secret.Excerpt(text, s.token)
}
