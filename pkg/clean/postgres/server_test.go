package postgres

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"job-cleanup/test/servers"
)

// rolePassword is a canary that may be seen nowhere.
const rolePassword = "s3cr3t-p'g\\ c@nary"

// cluster is one real server for all tests of the package, with a database app
// of a role batch that may do no more than a job's.
type cluster struct {
	*servers.PostgresServer
	port int
}

var shared struct {
	mu sync.Mutex
	c  *cluster
}

func TestMain(m *testing.M) { os.Exit(servers.Main(m.Run)) }

// postgres starts the server, or skips the test where there is none.
func postgres(t testing.TB) *cluster {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.c == nil {
		c := &cluster{PostgresServer: servers.Postgres(servers.Lasting(t))}
		c.port = c.Port
		c.Exec("postgres", "CREATE ROLE batch LOGIN REPLICATION CREATEDB PASSWORD '"+strings.ReplaceAll(rolePassword, "'", "''")+"'", "CREATE DATABASE app OWNER batch")
		shared.c = c
	}
	return shared.c
}

func freePort() int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// dial connects as the administrator.
func (c *cluster) dial(database, application string) (*pgconn.PgConn, error) {
	return c.dialAs(c.User, database, application)
}

func (c *cluster) dialAs(user, database, application string) (*pgconn.PgConn, error) {
	config, err := pgconn.ParseConfig(fmt.Sprintf("host=127.0.0.1 port=%d user=%s dbname='%s' sslmode=disable", c.port, user, database))
	if err != nil {
		return nil, err
	}
	config.Password = rolePassword
	if user == c.User {
		config.Password = c.Password
	}
	config.RuntimeParams = map[string]string{"application_name": application}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return pgconn.ConnectConfig(ctx, config)
}

// try runs statements one by one, each in its own transaction.
func (c *cluster) try(database, sql string) error {
	conn, err := c.dial(database, "test")
	if err != nil {
		return err
	}
	defer conn.Close(context.Background())
	for statement := range strings.SplitSeq(sql, "; ") {
		if _, err := conn.Exec(context.Background(), statement).ReadAll(); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

func (c *cluster) run(t testing.TB, sql string) {
	t.Helper()
	if err := c.try("app", sql); err != nil {
		t.Fatal(err)
	}
}

// ask returns the first cell of an answer, "" when there is none.
func (c *cluster) ask(t testing.TB, sql string) string {
	t.Helper()
	conn, err := c.dial("app", "test")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	results, err := conn.Exec(context.Background(), sql).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	if rows := results[len(results)-1].Rows; len(rows) > 0 {
		return string(rows[0][0])
	}
	return ""
}

// hold opens a connection that lives until the test ends.
func (c *cluster) hold(t testing.TB, database, application, sql string) *pgconn.PgConn {
	t.Helper()
	return c.holdAs(t, c.User, database, application, sql)
}

func (c *cluster) holdAs(t testing.TB, role, database, application, sql string) *pgconn.PgConn {
	t.Helper()
	conn, err := c.dialAs(role, database, application)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	if sql != "" {
		if _, err := conn.Exec(context.Background(), sql).ReadAll(); err != nil {
			t.Fatal(err)
		}
	}
	return conn
}

// behindDoor is a way to the cluster that can be shut.
func (c *cluster) behindDoor(t testing.TB) *servers.Door {
	t.Helper()
	return servers.NewDoor(t, net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port)))
}

// port is a door's.
func port(d *servers.Door) string { _, port, _ := net.SplitHostPort(d.Address); return port }
