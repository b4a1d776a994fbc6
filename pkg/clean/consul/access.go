package consul

import (
	"errors"
	"io"
	"net/url"
	"strings"

	"github.com/hashicorp/consul/api"

	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
)

// site is one agent as the spec's token sees it.
type site struct {
	spec    residue.Spec
	address *url.URL
	token   secret.Text
	client  *api.Client
	wire    wire
}

func openSite(spec residue.Spec, deps residue.Deps) (*site, error) {
	s := &site{spec: spec}
	var err error
	if s.address, err = parseAddress(spec.Option("Address"), spec.Option("TLS") == "yes"); err != nil {
		return nil, err
	}
	if ref := spec.Option("Token"); ref != "" {
		if s.token, err = s.readToken(ref, deps); err != nil {
			return nil, err
		}
	}
	trust, err := secret.Authorities(spec.Option("CACert"))
	if err != nil {
		return nil, residue.Errorf(residue.Retry, residue.Other, "CACert=: %w", err)
	}
	return s, s.connect(trust)
}

// readToken reads the token, of what is tracked only from a file of the job's.
func (s *site) readToken(ref string, deps residue.Deps) (secret.Text, error) {
	if s.spec.Tracked != nil && !strings.HasPrefix(ref, secret.File+":") {
		return secret.Text{}, residue.Errorf(residue.Refused, residue.Protected, "what is tracked uses a token in a file of the job's own: --token file:/PATH")
	}
	text, err := deps.Secret(ref)
	if e := new(residue.Error); err == nil || errors.As(err, &e) {
		return text, err
	}
	return text, residue.Errorf(residue.Retry, residue.NoCredentials, "Token=: %w", err)
}

// parseAddress reads Address=. A password in it would be recorded, so the text
// of such a one is not shown either.
func parseAddress(text string, https bool) (*url.URL, error) {
	if text == "" {
		text = defaultAddress
	}
	full := text
	if !strings.Contains(text, "://") {
		full = "http://" + text
	}
	u, err := url.Parse(full)
	if err != nil || u.User != nil {
		return nil, residue.Errorf(residue.Refused, residue.Other, "Address= is no address without a user (text not shown)")
	}
	web := (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
	if socket := u.Scheme == "unix" && u.Host == "" && strings.HasPrefix(u.Path, "/"); !web && !socket || u.RawQuery != "" || u.Fragment != "" {
		return nil, residue.Errorf(residue.Refused, residue.Other, "Address=%q is none of HOST:PORT, http://HOST, https://HOST, unix:///PATH", text)
	}
	if web && https {
		u.Scheme = "https"
	}
	return u, nil
}

// Endpoint is the agent's address.
func (s *site) Endpoint() string { return s.address.String() }

var _ io.Closer = (*site)(nil)

// Close ends the connection that is kept between calls.
func (s *site) Close() error {
	s.wire.to.CloseIdleConnections()
	return nil
}
