package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"job-cleanup/pkg/clean/cleantest"
	"job-cleanup/pkg/residue"
)

// quickly fails when f takes longer than it may.
func quickly(t *testing.T, most time.Duration, f func()) {
	t.Helper()
	began := time.Now()
	f()
	if took := time.Since(began); took > most {
		t.Errorf("took %v, more than %v", took, most)
	}
}

func execute(t *testing.T, conn *pgconn.PgConn, sql string) {
	t.Helper()
	if _, err := conn.Exec(context.Background(), sql).ReadAll(); err != nil {
		t.Fatal(err)
	}
}

// A server that is down, and one that accepts and says nothing.
func TestCase12_noAnswer(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	_, port, _ := net.SplitHostPort(silent.Addr().String())
	for where, want := range map[string]string{fmt.Sprint(freePort()): "unreachable unreachable", port: "unreachable timeout"} {
		c, err := Kind.Open(residue.Spec{Selector: "DropSchema", Value: "job_1", Options: via(where)}, depsOf("x"))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		quickly(t, 2*time.Second, func() {
			_, err = c.Find(ctx)
			if got := cleantest.Verdict(err); got != want {
				t.Errorf("find: %s, want %s (%v)", got, want, err)
			}
			if got := cleantest.Verdict(c.Remove(ctx, residue.Residue{})); got != want {
				t.Errorf("remove: %s, want %s", got, want)
			}
		})
		cancel()
	}
}

// A look-up that fails proves nothing.
func TestCase18_failedLookUp(t *testing.T) {
	c := postgres(t)
	c.run(t, "CREATE TABLE public.t18 (id int); ALTER TABLE public.t18 OWNER TO batch; CREATE SCHEMA s18; CREATE TABLE s18.closed (id int)")
	tests := []struct {
		selector, value string
		pairs           []string
		want            string
	}{
		{"DropSchema", "job_1", []string{"Database", "app_tpyo"}, "owed error"},
		{"DropSchema", "job_1", []string{"User", "nobody_18"}, "owed permission"},
		{"DeleteFrom", "public.t18", []string{"Column", "job", "Equals", "1"}, "owed error"},
		{"DeleteFrom", "public.t18", []string{"Column", "id", "Equals", "no number"}, "owed error"},
		{"Truncate", "s18.closed", nil, "owed permission"},
	}
	for _, tt := range tests {
		found, err := opened(t, c, tt.selector, tt.value, tt.pairs...).Find(context.Background())
		if got := cleantest.Verdict(err); got != tt.want || len(found) != 0 {
			t.Errorf("%s=%s %q: %s, want %s (%v), found %+v", tt.selector, tt.value, tt.pairs, got, tt.want, err, found)
		}
	}
	if _, err := Kind.Open(residue.Spec{Selector: "Shred", Options: via("1")}, depsOf("")); cleantest.Verdict(err) != "refused error" {
		t.Errorf("unknown selector: %v", err)
	}
}

func TestCase30_heldLock(t *testing.T) {
	c := postgres(t)
	c.run(t, "CREATE SCHEMA s30 AUTHORIZATION batch; SET ROLE batch; CREATE TABLE s30.a (); CREATE TABLE s30.b ()")
	holder := c.hold(t, "app", "somebody", "BEGIN; LOCK TABLE s30.b IN ACCESS SHARE MODE")
	cl := opened(t, c, "DropSchema", "s30", "LockTimeoutSec", "") // the default
	found, err := cl.Find(context.Background())
	if err != nil || len(found) != 1 {
		t.Fatalf("find beside a lock: %+v, %v", found, err)
	}
	quickly(t, 3*time.Second, func() { want(t, "held", cl.Remove(context.Background(), found[0]), "owed in-use") })
	if got := c.ask(t, "SELECT count(*) FROM pg_tables WHERE schemaname = 's30'"); got != "2" {
		t.Errorf("%s tables are there after a removal that was not committed", got)
	}
	execute(t, holder, "ROLLBACK")
	want(t, "free", cl.Remove(context.Background(), found[0]), "removed")
	want(t, "again", cl.Remove(context.Background(), found[0]), "gone")
}

// The lock table is finite: the plain statement fails on this schema.
func TestCase30_manyTables(t *testing.T) {
	c := postgres(t)
	c.run(t, "CREATE SCHEMA many AUTHORIZATION batch; CREATE SCHEMA dense AUTHORIZATION batch")
	for i := 0; i < 5000; i += 500 {
		c.run(t, fmt.Sprintf("DO $$BEGIN FOR i IN %d..%d LOOP EXECUTE format('CREATE TABLE many.t%%s (id int PRIMARY KEY)', i);\nEXECUTE format('ALTER TABLE many.t%%s OWNER TO batch', i);\nEND LOOP;\nEND$$", i, i+499))
	}
	for i := range 99 {
		c.run(t, fmt.Sprintf("DO $$BEGIN CREATE TABLE dense.t%[1]d (id int);\nALTER TABLE dense.t%[1]d OWNER TO batch;\nFOR i IN 1..30 LOOP CREATE INDEX ON dense.t%[1]d (id);\nEND LOOP;\nEND$$", i))
	}
	full := func(what string, err error) {
		var pg *pgconn.PgError
		if !errors.As(err, &pg) || pg.Code != codeNoMemory {
			t.Fatalf("%s: %v; the test shows nothing", what, err)
		}
	}
	full("the plain statement", c.try("app", "DROP SCHEMA many CASCADE"))

	reader := c.hold(t, "app", "somebody", "")
	var err error
	for i := 0; err == nil; i += 1000 { // until the table is full
		_, err = reader.Exec(context.Background(), fmt.Sprintf("SELECT pg_advisory_lock(30, i) FROM generate_series(%d, %d) i", i, i+999)).ReadAll()
	}
	full("many locks", err)
	execute(t, reader, "SELECT pg_advisory_unlock(30, i) FROM generate_series(0, 999) i")
	full("one batch beside many locks", c.try("app", "DROP SCHEMA dense CASCADE"))
	want(t, "smaller batches beside many locks", clean(t, opened(t, c, "DropSchema", "dense")), "removed")
	execute(t, reader, "SELECT pg_advisory_unlock_all()")

	quickly(t, 60*time.Second, func() { want(t, "5,000 tables", clean(t, opened(t, c, "DropSchema", "many")), "removed") })
	if got := c.ask(t, "SELECT count(*) FROM pg_namespace WHERE nspname IN ('many', 'dense')"); got != "0" {
		t.Error("a schema is there")
	}
}

func TestCase37_strangeNames(t *testing.T) {
	c := postgres(t)
	names := []string{"j", "j'", `j\`, `j\'`, `j"`, "j;ROLLBACK", "jé\t%s$1", "' OR '1'='1", "J"}
	for _, name := range names {
		c.run(t, "SET ROLE batch; BEGIN; SELECT 1; PREPARE TRANSACTION '"+strings.ReplaceAll(name, "'", "''")+"'")
	}
	left := len(names)
	for _, name := range names {
		want(t, name, clean(t, opened(t, c, "RollbackPrepared", name)), "removed")
		left--
		if got := c.ask(t, "SELECT count(*) FROM pg_prepared_xacts WHERE gid = '"+strings.ReplaceAll(name, "'", "''")+"'"); got != "0" {
			t.Errorf("%q is there", name)
		}
		if got := c.ask(t, "SELECT count(*) FROM pg_prepared_xacts"); got != fmt.Sprint(left) {
			t.Fatalf("after %q %s are left, want %d", name, got, left)
		}
	}
}

func TestCase37_preparedElsewhere(t *testing.T) {
	c := postgres(t)
	prepare := func() {
		if err := c.try("postgres", "SET ROLE batch; BEGIN; SELECT 1; PREPARE TRANSACTION 'elsewhere'"); err != nil {
			t.Fatal(err)
		}
	}
	prepare()
	cl := opened(t, c, "RollbackPrepared", "elsewhere")
	found, err := cl.Find(context.Background())
	if err != nil || len(found) != 1 {
		t.Fatalf("found %+v, %v", found, err)
	}
	want(t, "in another database", cl.Remove(context.Background(), found[0]), "removed")
	prepare()
	want(t, "prepared again by the next job", cl.Remove(context.Background(), found[0]), "lost changed")
	want(t, "the next job's own", clean(t, cl), "removed")
}

// A pool lends its backend under the job's name: it is older than the job.
func TestCase37_advisoryLockOfAPool(t *testing.T) {
	c := postgres(t)
	locked := func() string {
		return c.ask(t, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid IN (371, 372)")
	}
	c.holdAs(t, "batch", "app", "batch-37", "SELECT pg_advisory_lock(371)")
	open := func(start, end time.Time) residue.Cleaner {
		deps := depsOf(rolePassword)
		deps.Job.Start, deps.Job.End = start, end
		cl, err := Kind.Open(residue.Spec{Selector: "TerminateBackends", Value: "batch-37", Options: via(fmt.Sprint(c.port))}, deps)
		if err != nil {
			t.Fatal(err)
		}
		return cl
	}
	hour := time.Hour
	found, err := open(time.Now().Add(hour), time.Time{}).Find(context.Background())
	if cleantest.Verdict(err) != "owed in-use" || len(found) != 0 || locked() != "1" {
		t.Errorf("older than the job: found %+v, %v, %s locks", found, err, locked())
	}
	found, err = open(time.Now().Add(-2*hour), time.Now().Add(-hour)).Find(context.Background())
	if err != nil || len(found) != 0 {
		t.Errorf("the next job's: found %+v, %v", found, err)
	}
	c.holdAs(t, "batch", "app", "batch-37", "SELECT pg_advisory_lock(372)")
	cl := open(time.Now().Add(-hour), time.Now())
	found, err = cl.Find(context.Background())
	if err != nil || len(found) != 2 {
		t.Fatalf("ours: found %+v, %v", found, err)
	}
	for _, r := range found {
		want(t, "ours", cl.Remove(context.Background(), r), "removed")
	}
	if locked() != "0" {
		t.Errorf("%s advisory locks are left", locked())
	}
}
