package vault

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/hashicorp/vault/api"

	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
)

const (
	callLimit = 10 * time.Second // one request, when the caller sets no limit
	idleLimit = 30 * time.Second // a connection between two calls
	maxAnswer = 1 << 20          // bytes of an answer that are read
)

// door is the server as one token sees it.
type door struct {
	client *api.Client
	token  secret.Text
}

// open makes a door. The library takes a token, a namespace and headers from
// its process's environment, so all three are set here, whatever they are.
func (a *access) open(token secret.Text) (*door, error) {
	address := a.address.String()
	if a.address.Scheme == "unix" {
		address = "http://localhost" // the dialer knows the socket
	}
	client, err := api.NewClient(&api.Config{
		Address: address, HttpClient: a.client, DisableRedirects: true, CheckRetry: once,
	})
	if err != nil {
		return nil, residue.Errorf(residue.Retry, residue.Other, "set up the client: %w", err)
	}
	client.SetHeaders(http.Header{api.RequestHeaderName: {"true"}})
	if namespace := a.spec.Option("Namespace"); namespace != "" {
		client.SetNamespace(namespace)
	}
	client.SetToken(token.Reveal())
	return &door{client: client, token: token}, nil
}

// once says that a call is not made again: the ledger sees to that.
func once(context.Context, *http.Response, error) (bool, error) { return false, nil }

// newHTTP makes a client that uses no proxy and follows nobody elsewhere.
func newHTTP(address *url.URL, trust *tls.Config) *http.Client {
	dialer := &net.Dialer{Timeout: callLimit}
	dial := dialer.DialContext
	if address.Scheme == "unix" {
		dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", address.Path)
		}
	}
	return &http.Client{
		Transport: bounded{&http.Transport{
			DialContext: dial, TLSClientConfig: trust, TLSHandshakeTimeout: callLimit, ForceAttemptHTTP2: true,
			IdleConnTimeout: idleLimit,
		}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// bounded cuts answers off: the library reads an error to its end, however
// long a hostile server makes it.
type bounded struct{ *http.Transport }

// RoundTrip satisfies http.RoundTripper.
func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := b.Transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(response.Body, maxAnswer), response.Body}
	return response, nil
}

// ask makes one request: a read when body is nil, else a write. An answer
// without content is nil. What does not come from a Vault is an error, since
// "200 OK" of some proxy revokes nothing.
func (d *door) ask(ctx context.Context, path string, body map[string]any) (*api.Secret, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	response, err := d.send(ctx, path, body)
	if response != nil {
		defer response.Body.Close()
	}
	if err != nil {
		return nil, d.failed(ctx, err)
	}
	switch {
	case response.StatusCode == http.StatusNoContent:
		return nil, nil
	case response.StatusCode >= 300:
		return nil, residue.Errorf(residue.Retry, residue.Other, "%s: a standby node that sends its callers elsewhere (%d); name the active one", path, response.StatusCode)
	case response.StatusCode != http.StatusOK:
		return nil, residue.Errorf(residue.Retry, residue.Other, "%s: answered %d, which is not done yet", path, response.StatusCode)
	}
	answer, err := api.ParseSecret(response.Body)
	if err != nil || answer == nil || answer.RequestID == "" {
		if ctx.Err() != nil {
			return nil, d.failed(ctx, ctx.Err())
		}
		return nil, residue.Errorf(residue.Retry, residue.Other, "%s: the answer is not Vault's", path)
	}
	return answer, nil
}

func (d *door) send(ctx context.Context, path string, body map[string]any) (*api.Response, error) {
	if body == nil {
		return d.client.Logical().ReadRawWithContext(ctx, path)
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return d.client.Logical().WriteRawWithContext(ctx, path, text)
}
