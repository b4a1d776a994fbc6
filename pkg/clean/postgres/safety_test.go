package postgres

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"job-cleanup/pkg/clean/cleantest"
	"job-cleanup/pkg/residue"
)

func TestRefusedNames(t *testing.T) {
	long := strings.Repeat("x", 64)
	tests := []struct{ selector, value, want string }{
		{"DropSchema", "public", "refused protected"}, {"DropSchema", "pg_catalog", "refused protected"}, {"DropSchema", "pg_toast", "refused protected"},
		{"DropSchema", "information_schema", "refused protected"}, {"DropSchema", "", "refused error"}, {"DropSchema", long, "refused error"},
		{"DropSchema", "a\x00b", "refused error"}, {"DropSchema", "a\xff", "refused error"},
		{"DropDatabase", "postgres", "refused protected"}, {"DropDatabase", "template0", "refused protected"}, {"DropDatabase", "template1", "refused protected"},
		{"DropDatabase", "", "refused error"}, {"DropDatabase", long, "refused error"},
		{"Truncate", "orders", "refused error"}, {"Truncate", "a.b.c", "refused error"}, {"Truncate", "a.", "refused error"}, {"Truncate", ".b", "refused error"},
		{"Truncate", `a."b`, "refused error"}, {"Truncate", `a."b"c`, "refused error"}, {"Truncate", "pg_catalog.pg_class", "refused protected"},
		{"Truncate", `"information_schema".x`, "refused protected"}, {"Truncate", "a." + long, "refused error"}, {"Truncate", `a.""`, "refused error"},
		{"DeleteFrom", "public.t", "refused error"}, {"DeleteFrom", "t", "refused error"},
		{"TerminateBackends", "", "refused error"}, {"TerminateBackends", long, "refused error"},
		{"RollbackPrepared", "", "refused error"}, {"RollbackPrepared", strings.Repeat("x", 200), "refused error"}, {"DropSlot", "", "refused error"},
	}
	for _, tt := range tests {
		for _, tracked := range []bool{false, true} {
			spec := residue.Spec{Selector: tt.selector, Value: tt.value, Options: via("1")}
			if tracked {
				spec.Tracked = &residue.Residue{Ref: tt.value}
			}
			if _, err := Kind.Open(spec, depsOf("")); cleantest.Verdict(err) != tt.want {
				t.Errorf("%s=%q, tracked %v: %v, want %s", tt.selector, tt.value, tracked, err, tt.want)
			}
		}
	}
}

func TestTableNames(t *testing.T) {
	for text, want := range map[string]table{
		"a.b": {"a", "b"}, `"a.b".c`: {"a.b", "c"}, `A."b""c"`: {"A", `b"c`}, `""""."."`: {`"`, "."}, "a b.c;d": {"a b", "c;d"},
	} {
		got, err := parseTable(text)
		if err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
		if library := (pgx.Identifier{want.schema, want.name}).Sanitize(); got.sql() != library {
			t.Errorf("%s: written as %s, the library writes %s", text, got.sql(), library)
		}
	}
}

// A thing of the same name that came later is somebody else's.
func TestMadeAgain(t *testing.T) {
	c := postgres(t)
	tests := []struct{ selector, value, make, drop string }{
		{"DropSchema", "again", "CREATE SCHEMA again AUTHORIZATION batch", "DROP SCHEMA again"},
		{"DropDatabase", "again", "CREATE DATABASE again OWNER batch", "DROP DATABASE again"},
		{"Truncate", "public.again", "CREATE TABLE public.again AS SELECT 1 AS x; ALTER TABLE public.again OWNER TO batch", "DROP TABLE public.again"},
		{"DeleteFrom", "public.again2", "CREATE TABLE public.again2 AS SELECT 1 AS x; ALTER TABLE public.again2 OWNER TO batch", "DROP TABLE public.again2"},
	}
	for _, tt := range tests {
		c.run(t, tt.make)
		cl := opened(t, c, tt.selector, tt.value, "Column", "x", "Equals", "1")
		found, err := cl.Find(context.Background())
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: found %+v, %v", tt.selector, found, err)
		}
		c.run(t, tt.drop+"; "+tt.make)
		want(t, tt.selector+" of one made again", cl.Remove(context.Background(), found[0]), "lost changed")
		spec := residue.Spec{Selector: tt.selector, Tracked: &found[0], Options: with(via(fmt.Sprint(c.port)), "Column", "x", "Equals", "1")}
		tracked, err := Kind.Open(spec, depsOf(rolePassword))
		if err != nil {
			t.Fatal(err)
		}
		_, err = tracked.Find(context.Background())
		want(t, tt.selector+" tracked, made again", err, "lost changed")
		want(t, tt.selector+" found anew", clean(t, cl), "removed")
		if tt.selector != "DropSchema" && tt.selector != "DropDatabase" {
			c.run(t, tt.drop)
		}
	}
}

// What went with its database is gone; a database that never was is a mistake.
func TestDatabaseGone(t *testing.T) {
	c := postgres(t)
	c.run(t, "CREATE DATABASE passing OWNER batch")
	if err := c.try("passing", "CREATE SCHEMA job_9 AUTHORIZATION batch"); err != nil {
		t.Fatal(err)
	}
	cl := opened(t, c, "DropSchema", "job_9", "Database", "passing")
	found, err := cl.Find(context.Background())
	if err != nil || len(found) != 1 {
		t.Fatalf("found %+v, %v", found, err)
	}
	residue.Close(cl) // as after every rank: nobody may be connected now
	want(t, "the database we are told to connect to", clean(t, opened(t, c, "DropDatabase", "passing", "Database", "passing")), "removed")
	want(t, "recorded in it", cl.Remove(context.Background(), found[0]), "gone")
	_, err = cl.Find(context.Background())
	want(t, "looked for in it", err, "owed error")
}

// What others built on the schema is not dropped along.
func TestOutsideDependents(t *testing.T) {
	c := postgres(t)
	tests := []struct{ name, make, drop string }{
		{"a view", "CREATE VIEW public.theirs AS SELECT * FROM dep.t", "DROP VIEW public.theirs"},
		{"a foreign key", "CREATE TABLE public.theirs (t int REFERENCES dep.t)", "DROP TABLE public.theirs"},
		{"a column's type", "CREATE TABLE public.theirs (e dep.e)", "DROP TABLE public.theirs"},
		{"a default", "CREATE TABLE public.theirs (e int DEFAULT dep.f())", "DROP TABLE public.theirs"},
		{"a partition", "CREATE TABLE public.theirs PARTITION OF dep.p FOR VALUES IN (1)", "DROP TABLE public.theirs"},
		{"a row type", "CREATE FUNCTION public.theirs(dep.t) RETURNS int LANGUAGE sql AS 'SELECT 1'", "DROP FUNCTION public.theirs"},
	}
	for _, tt := range tests {
		c.run(t, "CREATE SCHEMA dep AUTHORIZATION batch; CREATE TABLE dep.t (id int PRIMARY KEY); CREATE TYPE dep.e AS ENUM ('x'); "+
			"CREATE FUNCTION dep.f() RETURNS int LANGUAGE sql AS 'SELECT 1'; CREATE TABLE dep.p (k int) PARTITION BY LIST (k); CREATE VIEW dep.v AS SELECT * FROM dep.t; "+
			"ALTER TABLE dep.t OWNER TO batch; ALTER TABLE dep.p OWNER TO batch; ALTER VIEW dep.v OWNER TO batch; ALTER TYPE dep.e OWNER TO batch; ALTER FUNCTION dep.f OWNER TO batch; "+tt.make)
		cl := opened(t, c, "DropSchema", "dep")
		err := clean(t, cl)
		want(t, tt.name+" elsewhere depends on it", err, "owed in-use")
		if err == nil || !strings.Contains(err.Error(), "theirs") {
			t.Errorf("%s: the message does not name it: %v", tt.name, err)
		}
		c.run(t, tt.drop) // fails when it went
		want(t, tt.name+" is away", clean(t, cl), "removed")
	}
}

func TestDatabaseInUse(t *testing.T) {
	c := postgres(t)
	c.run(t, "CREATE DATABASE used OWNER batch")
	c.holdAs(t, "batch", "used", "somebody", "")
	want(t, "in use", clean(t, opened(t, c, "DropDatabase", "used")), "owed in-use")
	want(t, "by force", clean(t, opened(t, c, "DropDatabase", "used", "Force", "yes")), "removed")
}

func TestRightsOfOthers(t *testing.T) {
	c := postgres(t)
	c.run(t, "CREATE SCHEMA theirs; CREATE TABLE theirs.t ()")
	want(t, "somebody else's schema", clean(t, opened(t, c, "DropSchema", "theirs")), "owed permission")
	c.hold(t, "app", "batch-x", "")
	_, err := opened(t, c, "TerminateBackends", "batch-x").Find(context.Background())
	want(t, "somebody else's backend", err, "owed permission")
}

func TestRowsThatMustNotMatch(t *testing.T) {
	c := postgres(t)
	c.run(t, "CREATE TABLE public.types (n int, j jsonb, l numeric, c text); ALTER TABLE public.types OWNER TO batch; INSERT INTO public.types SELECT 7, '7', 7, 'a' FROM generate_series(1, 45000); "+
		"INSERT INTO public.types VALUES (70, '7', 7, 'b'); CREATE VIEW public.aview AS SELECT * FROM public.types; ALTER VIEW public.aview OWNER TO batch")
	_, err := opened(t, c, "DeleteFrom", "public.types", "Column", "j", "Equals", "7").Find(context.Background())
	want(t, "a type with an equality of its own", err, "refused error")
	_, err = opened(t, c, "DeleteFrom", "public.aview", "Column", "n", "Equals", "7").Find(context.Background())
	want(t, "a view", err, "refused protected")
	_, err = opened(t, c, "Truncate", "public.aview").Find(context.Background())
	want(t, "a view to truncate", err, "refused protected")
	want(t, "several portions", clean(t, opened(t, c, "DeleteFrom", "public.types", "Column", "n", "Equals", "7")), "removed")
	if got := c.ask(t, "SELECT string_agg(n::text, ',') FROM public.types"); got != "70" {
		t.Errorf("left are %s, want 70", got)
	}
	found, err := opened(t, c, "DeleteFrom", "public.types", "Column", `n" = 70 OR "n`, "Equals", "7").Find(context.Background())
	want(t, "SQL as a column", err, "owed error")
	found2, err2 := opened(t, c, "DeleteFrom", "public.types", "Column", "c", "Equals", "x' OR 'a'='a").Find(context.Background())
	if len(found)+len(found2) != 0 || err2 != nil {
		t.Errorf("SQL as a value: found %+v %+v, %v", found, found2, err2)
	}
}

// A trigger that keeps the rows makes them owed, not done.
func TestRowsThatStay(t *testing.T) {
	c := postgres(t)
	c.run(t, "CREATE TABLE public.sticky (job int); ALTER TABLE public.sticky OWNER TO batch; INSERT INTO public.sticky VALUES (1), (1); "+
		"CREATE FUNCTION public.keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF random() < 2 AND OLD.ctid = ''(0,1)'' THEN RETURN NULL;\nEND IF;\nRETURN OLD;\nEND'; "+
		"CREATE TRIGGER keep BEFORE DELETE ON public.sticky FOR EACH ROW EXECUTE FUNCTION public.keep()")
	cl := opened(t, c, "DeleteFrom", "public.sticky", "Column", "job", "Equals", "1")
	found, err := cl.Find(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	want(t, "some go, one stays", cl.Remove(context.Background(), found[0]), "owed still-written")
	want(t, "none goes", cl.Remove(context.Background(), found[0]), "owed still-written")
}

// A cancel while a statement waits ends it here and on the server.
func TestCancelWhileWaiting(t *testing.T) {
	c := postgres(t)
	c.run(t, "CREATE SCHEMA waits AUTHORIZATION batch; SET ROLE batch; CREATE TABLE waits.t ()")
	c.hold(t, "app", "somebody", "BEGIN; LOCK TABLE waits.t")
	cl := opened(t, c, "DropSchema", "waits", "LockTimeoutSec", "1min", "StatementTimeoutSec", "1min")
	found, err := cl.Find(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- cl.Remove(ctx, found[0]) }()
	waiting := "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'job-cleanup' AND wait_event_type = 'Lock'"
	until(t, func() bool { return c.ask(t, waiting) == "1" })
	cancel()
	quickly(t, time.Second, func() { want(t, "cancelled", <-done, "owed cancelled") })
	until(t, func() bool { return c.ask(t, waiting) == "0" })
}

// until waits for something to become true, 10 seconds at most.
func until(t *testing.T, is func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not come true in 10 seconds")
		}
	}
}

// A function that the job put into the way of ours is not called.
func TestSearchPath(t *testing.T) {
	c := postgres(t)
	c.run(t, "CREATE FUNCTION public.current_database() RETURNS name LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''called'';\nEND'; "+
		"CREATE FUNCTION public.eq(text, text) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''called'';\nEND'; "+
		"CREATE OPERATOR public.= (LEFTARG = text, RIGHTARG = text, FUNCTION = public.eq); ALTER ROLE batch SET search_path = public, pg_catalog; "+
		"CREATE SCHEMA path AUTHORIZATION batch")
	defer c.run(t, "ALTER ROLE batch RESET search_path; DROP OPERATOR public.= (text, text); DROP FUNCTION public.eq; DROP FUNCTION public.current_database")
	want(t, "with traps in the search path", clean(t, opened(t, c, "DropSchema", "path")), "removed")
}
