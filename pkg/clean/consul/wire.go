package consul

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/hashicorp/consul/api"

	"job-cleanup/pkg/residue"
)

const (
	callLimit = 10 * time.Second // one request, when the caller sets no limit
	idleLimit = 30 * time.Second // a connection between two calls
	maxAnswer = 64 << 20         // bytes of an answer that are read: a list comes with its values
)

// connect makes the client.
func (s *site) connect(trust *x509.CertPool) error {
	dialer := &net.Dialer{Timeout: callLimit}
	dial, address, scheme := dialer.DialContext, s.address.String(), s.address.Scheme
	if s.address.Scheme == "unix" {
		path := s.address.Path
		address, scheme = "http://localhost", "http" // the dialer knows the socket
		dial = func(ctx context.Context, _, _ string) (net.Conn, error) { return dialer.DialContext(ctx, "unix", path) }
	}
	s.wire = wire{
		to: &http.Transport{
			DialContext: dial, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: trust},
			TLSHandshakeTimeout: callLimit, IdleConnTimeout: idleLimit,
		},
		token: s.token.Reveal(),
		query: map[string]string{
			"dc": s.spec.Option("Datacenter"), "ns": s.spec.Option("Namespace"), "partition": s.spec.Option("Partition"),
		},
	}
	client, err := api.NewClient(&api.Config{Address: address, Scheme: scheme, HttpClient: &http.Client{
		Transport:     s.wire,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}})
	if err != nil {
		return residue.Errorf(residue.Retry, residue.Other, "set up the client: %w", err)
	}
	s.client = client
	return nil
}

// wire sends requests as the plan says: the library takes a token, a namespace
// and a partition from its process's environment when the plan has none. It
// cuts answers off, which the library would read to their end.
type wire struct {
	to    *http.Transport
	token string
	query map[string]string // what is "" is not sent
}

// RoundTrip satisfies http.RoundTripper.
func (w wire) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Del("Authorization")
	request.Header.Del("X-Consul-Token")
	if w.token != "" {
		request.Header.Set("X-Consul-Token", w.token)
	}
	request.URL.RawQuery = w.queries(request.URL.Query()).Encode()
	response, err := w.to.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(response.Body, maxAnswer), response.Body}
	return response, nil
}

func (w wire) queries(q url.Values) url.Values {
	for key, value := range w.query {
		q.Del(key)
		if value != "" {
			q.Set(key, value)
		}
	}
	return q
}

// limited bounds one request.
func limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, callLimit)
}

// reading are the options of a read: it is asked of the leader, which knows.
func reading(ctx context.Context) *api.QueryOptions {
	return (&api.QueryOptions{RequireConsistent: true}).WithContext(ctx)
}

func writing(ctx context.Context) *api.WriteOptions { return (&api.WriteOptions{}).WithContext(ctx) }
