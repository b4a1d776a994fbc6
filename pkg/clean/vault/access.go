package vault

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
)

// access is what a spec says of the server and of who may ask it.
type access struct {
	spec    residue.Spec
	deps    residue.Deps
	address *url.URL
	client  *http.Client
}

// openAccess checks the options that have no secret in them.
func openAccess(spec residue.Spec, deps residue.Deps) (*access, error) {
	a := &access{spec: spec, deps: deps}
	if spec.Tracked != nil {
		if err := trackable(spec); err != nil {
			return nil, err
		}
	}
	var err error
	if a.address, err = parseAddress(spec.Option("Address")); err != nil {
		return nil, err
	}
	trust, err := secret.Authorities(spec.Option("CACert"))
	if err != nil {
		return nil, residue.Errorf(residue.Retry, residue.Other, "CACert=: %w", err)
	}
	a.client = newHTTP(a.address, &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: trust})
	return a, nil
}

// trackable refuses what a job may not have us do: use a token that is not in
// a file of its own.
func trackable(spec residue.Spec) error {
	if spec.Option("Identity") != "" {
		return residue.Errorf(residue.Refused, residue.Protected, "what is tracked uses no identity of the cleaner's; name the job's own token with --token")
	}
	if ref := spec.Option("Token"); ref != "" && !strings.HasPrefix(ref, secret.File+":") {
		return residue.Errorf(residue.Refused, residue.Protected, "what is tracked uses a token in a file of the job's own: --token file:/PATH")
	}
	return nil
}

// parseAddress reads Address=. A password in it would be recorded, so the text
// of such a one is not shown either.
func parseAddress(text string) (*url.URL, error) {
	if text == "" {
		return nil, residue.Errorf(residue.Refused, residue.Unset, "Address= is not set, nor was VAULT_ADDR")
	}
	u, err := url.Parse(text)
	if err != nil || u.User != nil {
		return nil, residue.Errorf(residue.Refused, residue.Other, "Address= is no address without a user (text not shown)")
	}
	web := (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
	if socket := u.Scheme == "unix" && u.Host == "" && strings.HasPrefix(u.Path, "/"); !web && !socket || u.RawQuery != "" || u.Fragment != "" {
		return nil, residue.Errorf(residue.Refused, residue.Other, "Address=%q is none of http://HOST, https://HOST, unix:///PATH", text)
	}
	return u, nil
}

// Endpoint is the server's address.
func (a *access) Endpoint() string { return a.address.String() }

var _ io.Closer = (*access)(nil)

// Close ends the connection that is kept between calls.
func (a *access) Close() error {
	a.client.CloseIdleConnections()
	return nil
}

// token is the door that Token= opens.
func (a *access) token() (*door, error) {
	if a.spec.Option("Token") == "" {
		return nil, residue.Errorf(residue.Retry, residue.NoCredentials, "Token= is not set, nor was VAULT_TOKEN")
	}
	return a.door("Token")
}

// identity is the door that Identity= opens, nil when it is not set.
func (a *access) identity() (*door, error) {
	if a.spec.Option("Identity") == "" {
		return nil, nil
	}
	return a.door("Identity")
}

// right is the door for what is not the token itself.
func (a *access) right() (*door, error) {
	if d, err := a.identity(); d != nil || err != nil {
		return d, err
	}
	if a.spec.Option("Token") == "" {
		return nil, residue.Errorf(residue.Retry, residue.NoCredentials, "neither Identity= nor Token= is set")
	}
	return a.door("Token")
}

func (a *access) door(option string) (*door, error) {
	text, err := a.deps.Secret(a.spec.Option(option))
	if err != nil {
		if e := new(residue.Error); errors.As(err, &e) {
			return nil, err
		}
		return nil, residue.Errorf(residue.Retry, residue.NoCredentials, "%s=: %w", option, err)
	}
	return a.open(text)
}

func (a *access) now() time.Time {
	if a.deps.Now != nil {
		return a.deps.Now()
	}
	return time.Now()
}
