package postgres

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgpassfile"
	"github.com/jackc/pgx/v5/pgconn"

	"job-cleanup/pkg/expand"
	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
)

// Where a server listens when the plan does not say.
const (
	defaultHost = "/run/postgresql"
	defaultPort = "5432"
)

// sslModes are those of libpq, from no TLS to a verified server.
var sslModes = []string{"disable", "allow", "prefer", "require", "verify-ca", "verify-full"}

// ourName is the application_name of our connections.
const ourName = "job-cleanup"

// server is where a spec connects to, resolved.
type server struct {
	config *pgconn.Config
	lock   time.Duration // for a lock that somebody holds
	each   time.Duration // for a statement
}

// newServer resolves all that a connection needs, secrets and files included.
func newServer(spec residue.Spec, deps residue.Deps) (server, error) {
	lock, err := limit(spec, "LockTimeoutSec", 2*time.Second)
	if err != nil {
		return server{}, err
	}
	each, err := limit(spec, "StatementTimeoutSec", 9*time.Second)
	if err != nil {
		return server{}, err
	}
	set, err := resolve(spec, deps)
	if err != nil {
		return server{}, err
	}
	password, err := password(spec, deps, set)
	if err != nil {
		return server{}, err
	}
	for _, used := range []string{"password", "passfile"} {
		delete(set, used)
	}
	config, err := pgconn.ParseConfig(set.connString())
	var file *fs.PathError
	switch {
	case errors.As(err, &file), err != nil && set["sslrootcert"]+set["sslcert"] != "": // it may be there tomorrow
		return server{}, residue.Errorf(residue.Retry, residue.NoCredentials, "certificates: %s", plain(err, nil))
	case err != nil:
		return server{}, refused("connection settings: %s", plain(err, nil))
	}
	config.Password = password.Reveal()
	config.RuntimeParams = map[string]string{"application_name": ourName}
	return server{config: config, lock: lock, each: each}, nil
}

// limit reads a time limit. There always is one.
func limit(spec residue.Spec, key string, otherwise time.Duration) (time.Duration, error) {
	text := spec.Option(key)
	if text == "" {
		return otherwise, nil
	}
	d, err := expand.Span(text)
	if err != nil || d < time.Millisecond || d > time.Hour {
		return 0, refused("%s=%q: write a time from 1ms to 1h", key, text)
	}
	return d, nil
}

// resolve merges DSN, service and single keys, in this order.
func resolve(spec residue.Spec, deps residue.Deps) (settings, error) {
	set, err := parseDSN(spec.Option("DSN"))
	if err != nil {
		return nil, err
	}
	set.under(settings{"service": spec.Option("Service")})
	if name := set["service"]; name != "" {
		path := spec.Option("ServiceFile")
		if path == "" {
			return nil, refused("Service=%q needs ServiceFile=", name)
		}
		file, err := deps.Secret(secret.File + ":" + path)
		if err != nil {
			return nil, err
		}
		found, err := service(name, file.Reveal())
		if err != nil {
			return nil, err
		}
		set.under(found)
	}
	set.under(settings{
		"host": spec.Option("Host"), "port": spec.Option("Port"), "dbname": spec.Option("Database"), "user": spec.Option("User"),
		"passfile": spec.Option("PassFile"), "sslmode": spec.Option("SSLMode"), "sslrootcert": spec.Option("CACert"),
	})
	if user := deps.Job.User; user != nil {
		set.under(settings{"user": user.Name})
	}
	if set["user"] == "" {
		return nil, refused("no role to connect as; write User=")
	}
	if mode := set["sslmode"]; mode != "" && !slices.Contains(sslModes, mode) {
		return nil, refused("SSLMode=%q is none of %s", mode, strings.Join(sslModes, ", "))
	}
	set.under(settings{"host": defaultHost, "port": defaultPort, "dbname": set["user"], "sslmode": "prefer"})
	if spec.Selector == "DropDatabase" && set["dbname"] == spec.Value {
		set["dbname"] = "postgres" // nobody can drop what they are connected to
	}
	return set, nil
}

// password reads the password from where it stands, "" when there is none.
func password(spec residue.Spec, deps residue.Deps, set settings) (secret.Text, error) {
	if ref := spec.Option("Password"); ref != "" {
		return deps.Secret(ref)
	}
	if set["password"] != "" || set["passfile"] == "" {
		return secret.New(set["password"]), nil
	}
	file, err := deps.Secret(secret.File + ":" + set["passfile"])
	if err != nil {
		return secret.Text{}, err
	}
	entries, err := pgpassfile.ParsePassfile(strings.NewReader(file.Reveal()))
	if err != nil {
		return secret.Text{}, residue.Errorf(residue.Retry, residue.NoCredentials, "the password file can't be read")
	}
	host := set["host"]
	if strings.HasPrefix(host, "/") {
		host = "localhost"
	}
	return secret.New(entries.FindPassword(host, set["port"], set["dbname"], set["user"])), nil
}

// address is where the first server of the list listens.
func (s server) address() string {
	return net.JoinHostPort(s.config.Host, strconv.Itoa(int(s.config.Port)))
}

// errNoDatabase is the answer of a server that let us in but has no such
// database.
var errNoDatabase = errors.New("there is no such database")

// connect logs in. Its errors are *residue.Error.
func (s server) connect(ctx context.Context) (*session, error) {
	conn, err := pgconn.ConnectConfig(ctx, s.config)
	if codeOf(err) == codeNoDatabase {
		return nil, residue.Errorf(residue.Retry, residue.Other, "%q: %w", s.config.Database, errNoDatabase)
	}
	if err != nil {
		return nil, s.failed(err)
	}
	return &session{server: s, conn: conn}, nil
}

// session connects, runs do and disconnects. Its errors are *residue.Error.
func (s server) session(ctx context.Context, do func(*session) error) error {
	own, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer disconnect(own.conn)
	return s.failed(do(own))
}

// failed is failed with nothing of the password in it.
func (s server) failed(err error) error { return failed(err, secret.New(s.config.Password)) }

// disconnect says goodbye, briefly: a server that hangs must not hang us.
func disconnect(conn *pgconn.PgConn) {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	_ = conn.Close(ctx)
}
