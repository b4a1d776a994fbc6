package amqp

import (
	"context"
	"crypto/tls"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
)

const (
	callTime    = 9 * time.Second        // for one look or removal, unless the context ends sooner
	goodbyeTime = 300 * time.Millisecond // for the server's answer to our goodbye
)

// server is where a spec connects to, resolved.
type server struct {
	scheme   string // amqp or amqps
	address  string // HOST:PORT
	vhost    string
	user     string
	password secret.Text
	security *tls.Config // nil for amqp
}

func newServer(spec residue.Spec, deps residue.Deps) (server, error) {
	s, err := parseAddress(spec.Option("Address"))
	if err != nil {
		return s, err
	}
	if vhost := spec.Option("Vhost"); vhost != "" {
		if s.vhost != "" && s.vhost != vhost {
			return s, refused("Address= names the virtual host %q and Vhost= %q", s.vhost, vhost)
		}
		s.vhost = vhost
	}
	if s.vhost == "" {
		s.vhost = "/"
	}
	if user := spec.Option("Username"); user != "" {
		s.user = user
	}
	if s.user == "" {
		s.user = "guest"
	}
	if spec.Option("Password") == "" {
		return s, refused("amqp needs Password=, also for the user %q", s.user)
	}
	if s.password, err = deps.Secret(spec.Option("Password")); err != nil {
		return s, err
	}
	s.security, err = s.transport(spec.Option("CACert"))
	return s, err
}

// parseAddress reads a URL. No error repeats the text, since a password may
// stand in it.
func parseAddress(text string) (server, error) {
	if text == "" {
		text = "amqp://127.0.0.1"
	}
	bad := func(why string) (server, error) { return server{}, refused("Address= %s (text not shown)", why) }
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || u.Hostname() == "" {
		return bad("is no URL")
	}
	s := server{scheme: u.Scheme}
	port := map[string]string{"amqp": "5672", "amqps": "5671"}[u.Scheme]
	switch {
	case port == "":
		return bad("begins with neither amqp:// nor amqps://")
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#"):
		return bad("has a query or a fragment; in a virtual host's name write %3F and %23")
	}
	if u.Port() != "" {
		port = u.Port()
	}
	s.address = net.JoinHostPort(u.Hostname(), port)
	if u.User != nil {
		if _, has := u.User.Password(); has {
			return bad("holds a password; write Password= with a reference to it")
		}
		s.user = u.User.Username()
	}
	s.vhost, err = url.PathUnescape(strings.TrimPrefix(u.EscapedPath(), "/"))
	if err != nil || len(s.vhost) > maxName {
		return bad("names no virtual host that can be")
	}
	return s, nil
}

// transport returns the TLS settings, nil for none.
func (s server) transport(file string) (*tls.Config, error) {
	if s.scheme != "amqps" {
		if file != "" {
			return nil, refused("CACert= is for amqps://")
		}
		return nil, nil
	}
	trust, err := secret.Authorities(file)
	if err != nil {
		return nil, residue.Errorf(residue.Retry, residue.NoCredentials, "CACert=: %w", err)
	}
	host, _, _ := net.SplitHostPort(s.address)
	return &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12, RootCAs: trust}, nil
}

func (s server) endpoint() string { return s.scheme + "://" + s.address }

// session is one connection.
type session struct{ conn *amqp091.Connection }

// session connects, runs do and disconnects. The client knows no contexts:
// when ours ends, the network connection is closed under it. Errors are
// *residue.Error.
func (s server) session(ctx context.Context, do func(*session) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	wire, err := s.dial(ctx)
	if err != nil {
		return failed(ctx, err, s.password)
	}
	defer wire.Close()
	defer context.AfterFunc(ctx, func() { _ = wire.Close() })()
	conn, err := amqp091.Open(wire, amqp091.Config{
		SASL:  []amqp091.Authentication{&amqp091.PlainAuth{Username: s.user, Password: s.password.Reveal()}},
		Vhost: s.vhost, Locale: "en_US", Heartbeat: callTime,
		Properties: amqp091.Table{"connection_name": "job-cleanup", "product": "job-cleanup"},
	})
	if err != nil {
		return failed(ctx, err, s.password)
	}
	err = failed(ctx, do(&session{conn}), s.password)
	_ = conn.CloseDeadline(time.Now().Add(goodbyeTime))
	return err
}

func (s server) dial(ctx context.Context) (net.Conn, error) {
	if s.security == nil {
		return (&net.Dialer{}).DialContext(ctx, "tcp", s.address)
	}
	return (&tls.Dialer{Config: s.security}).DialContext(ctx, "tcp", s.address)
}

// channel runs do on a channel of its own: the server closes a channel with
// every error.
func (s *session) channel(do func(*amqp091.Channel) error) error {
	ch, err := s.conn.Channel()
	if err != nil {
		return err
	}
	if err := do(ch); err != nil {
		return err
	}
	return ch.Close()
}
