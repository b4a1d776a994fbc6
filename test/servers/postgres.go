//go:build linux

package servers

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/jackc/pgx/v5"

	"job-cleanup/test/rig"
)

// PostgresServer is a real PostgreSQL server that allows prepared transactions
// and replication slots.
type PostgresServer struct {
	*Server
	Host     string // 127.0.0.1
	Port     int
	User     string // a superuser
	Password string
}

// Postgres starts one.
func Postgres(t rig.T) *PostgresServer {
	t.Helper()
	programs := postgresPrograms()
	if programs == "" {
		t.Skip("needs the PostgreSQL server")
	}
	p := &PostgresServer{Server: newServer(t, "postgres"), Host: "127.0.0.1", Port: freePort(t), User: "postgres", Password: NewSecret()}
	p.end = syscall.SIGINT // which does not wait for clients
	owner := p.giveFolder()
	data, secret := filepath.Join(p.folder, "data"), filepath.Join(p.folder, "password")
	if err := os.WriteFile(secret, []byte(p.Password+"\n"), 0o644); err != nil { // its folder is closed
		t.Fatal(err)
	}
	initdb := exec.Command(filepath.Join(programs, "initdb"), "-D", data, "-U", p.User, "--pwfile="+secret,
		"--auth=scram-sha-256", "--no-sync", "--encoding=UTF8", "--locale=C")
	initdb.Dir, initdb.SysProcAttr = p.folder, &syscall.SysProcAttr{Credential: owner}
	if output, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, output)
	}
	p.command = func() *exec.Cmd {
		cmd := exec.Command(filepath.Join(programs, "postgres"), "-D", data, "-h", p.Host, "-p", strconv.Itoa(p.Port),
			"-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "max_prepared_transactions=10", "-c", "wal_level=logical")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: owner}
		return cmd
	}
	p.answers = func(ctx context.Context) error {
		db, err := pgx.Connect(ctx, p.URL("postgres"))
		if err != nil {
			return err
		}
		return db.Close(ctx)
	}
	p.Start()
	return p
}

// giveFolder gives the server's folder to the user that runs it: the server
// refuses to run as root. nil is this process's own user.
func (p *PostgresServer) giveFolder() *syscall.Credential {
	p.t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		p.t.Skipf("needs a user for the PostgreSQL server: %v", err)
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		p.t.Fatal(err)
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.Chown(p.folder, int(uid), int(gid)); err != nil {
		p.t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// DSN returns where a database is, without the password.
func (p *PostgresServer) DSN(database string) string {
	return (&url.URL{Scheme: "postgres", User: url.User(p.User), Host: loopback(p.Port), Path: database, RawQuery: "sslmode=disable"}).String()
}

// URL is DSN with the password.
func (p *PostgresServer) URL(database string) string {
	return (&url.URL{Scheme: "postgres", User: url.UserPassword(p.User, p.Password), Host: loopback(p.Port), Path: database, RawQuery: "sslmode=disable"}).String()
}

// Exec runs statements in a database as the superuser.
func (p *PostgresServer) Exec(database string, statements ...string) {
	p.t.Helper()
	p.connected(database, func(ctx context.Context, db *pgx.Conn) error {
		for _, statement := range statements {
			if _, err := db.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
}

// Count returns the number that a query of one row and one column gives.
func (p *PostgresServer) Count(database, query string, arguments ...any) int {
	p.t.Helper()
	var n int
	p.connected(database, func(ctx context.Context, db *pgx.Conn) error {
		return db.QueryRow(ctx, query, arguments...).Scan(&n)
	})
	return n
}

func (p *PostgresServer) connected(database string, do func(context.Context, *pgx.Conn) error) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*askLimit)
	defer cancel()
	db, err := pgx.Connect(ctx, p.URL(database))
	if err != nil {
		p.t.Fatal(err)
	}
	defer db.Close(ctx)
	if err := do(ctx, db); err != nil {
		p.t.Fatal(err)
	}
}

// postgresPrograms returns the folder of the newest server's programs, "" if
// there is none. Debian keeps them out of the PATH.
func postgresPrograms() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if path, err := exec.LookPath("initdb"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(real)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return filepath.Dir(found[len(found)-1])
}
