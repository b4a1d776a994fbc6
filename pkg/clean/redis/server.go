package redis

import (
	"context"
	"crypto/tls"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
)

const (
	defaultAddress = "127.0.0.1:6379"
	callTime       = 9 * time.Second // for one answer, unless the context ends sooner
)

// quiet keeps the client library from writing to standard error.
var quiet = sync.OnceFunc(logging.Disable)

// server is where a spec connects to, resolved.
type server struct {
	options redis.Options
	hide    []secret.Text
}

func newServer(spec residue.Spec, deps residue.Deps) (server, error) {
	quiet()
	network, address, err := whereTo(spec.Option("Address"))
	if err != nil {
		return server{}, err
	}
	db := 0
	if text := spec.Option("DB"); text != "" {
		if db, err = strconv.Atoi(text); err != nil || db < 0 {
			return server{}, refused("DB=%q is no number of a database", text)
		}
	}
	var password secret.Text
	if ref := spec.Option("Password"); ref != "" {
		if password, err = deps.Secret(ref); err != nil {
			return server{}, err
		}
	}
	security, err := transport(spec, network, address)
	if err != nil {
		return server{}, err
	}
	return server{hide: []secret.Text{password}, options: redis.Options{
		Network: network, Addr: address, DB: db, Username: spec.Option("Username"), Password: password.Reveal(), TLSConfig: security,
		Protocol: 2, PoolSize: 1, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true,
		DialTimeout: callTime, ReadTimeout: callTime, WriteTimeout: callTime, PoolTimeout: callTime,
		DisableIdentity: true, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}}, nil
}

// whereTo reads Address=. No error repeats what may hold a password.
func whereTo(text string) (network, address string, err error) {
	switch {
	case text == "":
		return "tcp", defaultAddress, nil
	case strings.HasPrefix(text, "/"):
		return "unix", text, nil
	case strings.Contains(text, "@") || strings.Contains(text, "//"):
		return "", "", refused("Address= is HOST:PORT or a path, not a URL (text not shown); the password has Password=")
	}
	host, port, err := net.SplitHostPort(text)
	if n, bad := strconv.ParseUint(port, 10, 16); err != nil || host == "" || bad != nil || n == 0 {
		return "", "", refused("Address=%q is not HOST:PORT", text)
	}
	return "tcp", text, nil
}

// transport returns the TLS settings, nil for none.
func transport(spec residue.Spec, network, address string) (*tls.Config, error) {
	file := spec.Option("CACert")
	if spec.Option("TLS") != "yes" && file == "" {
		return nil, nil
	}
	if network == "unix" {
		return nil, refused("TLS is not for a socket's path")
	}
	trust, err := secret.Authorities(file)
	if err != nil {
		return nil, residue.Errorf(residue.Retry, residue.NoCredentials, "CACert=: %w", err)
	}
	host, _, _ := net.SplitHostPort(address)
	return &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12, RootCAs: trust}, nil
}

// proof says in which database a thing was seen. Keys have no other identity
// than their name.
func (s server) proof() map[string]string { return map[string]string{"db": strconv.Itoa(s.options.DB)} }

// session is a client with one connection.
type session struct{ *redis.Client }

// session connects, runs do and disconnects. When the context ends the
// connection is closed under the client, which does not watch for that itself.
// Errors are *residue.Error.
func (s server) session(ctx context.Context, do func(*session) error) error {
	if ctx.Err() != nil {
		return failed(ctx, ctx.Err(), nil)
	}
	options := s.options
	options.Dialer = func(dialing context.Context, network, address string) (net.Conn, error) {
		conn, err := s.dial(dialing, network, address)
		if err != nil {
			return nil, err
		}
		context.AfterFunc(ctx, func() { _ = conn.Close() })
		return conn, nil
	}
	client := redis.NewClient(&options)
	defer client.Close()
	err := usable(ctx, client)
	if err == nil {
		err = do(&session{client})
	}
	return failed(ctx, err, s.hide)
}

func (s server) dial(ctx context.Context, network, address string) (net.Conn, error) {
	plain := &net.Dialer{}
	if s.options.TLSConfig == nil {
		return plain.DialContext(ctx, network, address)
	}
	return (&tls.Dialer{NetDialer: plain, Config: s.options.TLSConfig}).DialContext(ctx, network, address)
}

// usable refuses servers on which a look-up would prove nothing: a node of a
// cluster has some of the keys, a replica is late.
func usable(ctx context.Context, client *redis.Client) error {
	about, err := client.Do(ctx, "HELLO").Slice()
	if err != nil {
		if strings.Contains(err.Error(), "unknown command") { // before Redis 6; it tells by INFO
			return usableOld(ctx, client)
		}
		return err
	}
	told := map[string]string{}
	for i := 0; i+1 < len(about); i += 2 {
		key, _ := about[i].(string)
		told[key], _ = about[i+1].(string)
	}
	return judgeServer(told["mode"], told["role"])
}

func usableOld(ctx context.Context, client *redis.Client) error {
	info, err := client.Info(ctx).Result()
	if err != nil {
		return err
	}
	told := map[string]string{}
	for line := range strings.Lines(info) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		told[key] = value
	}
	return judgeServer(told["redis_mode"], told["role"])
}

func judgeServer(mode, role string) error {
	switch {
	case mode != "standalone":
		return refused("the server's mode is %q, only a single server can be cleaned", mode)
	case role != "master":
		return residue.Errorf(residue.Retry, residue.Other, "the server's role is %q, its primary has to be asked", role)
	}
	return nil
}
