package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"job-cleanup/pkg/clean/cleantest"
	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
)

var serial atomic.Int64

// fresh makes a name that no other test has.
func fresh(stem string) string { return fmt.Sprintf("%s_%d", stem, serial.Add(1)) }

// via are options that lead to the server at a port, as the role batch.
func via(port string) map[string][]string {
	return map[string][]string{
		"Host": {"127.0.0.1"}, "Port": {port}, "Database": {"app"}, "User": {"batch"}, "SSLMode": {"disable"}, "Password": {"file:/password"},
		"LockTimeoutSec": {"500ms"},
	}
}

func with(options map[string][]string, pairs ...string) map[string][]string {
	for i := 0; i < len(pairs); i += 2 {
		options[pairs[i]] = []string{pairs[i+1]}
	}
	return options
}

func depsOf(password string) residue.Deps {
	return residue.Deps{
		Secret: func(string) (secret.Text, error) { return secret.New(password), nil },
		Now:    time.Now,
	}
}

// opened makes a cleaner on the server itself.
func opened(t *testing.T, c *cluster, selector, value string, pairs ...string) residue.Cleaner {
	t.Helper()
	spec := residue.Spec{Kind: "postgres", Selector: selector, Value: value, Options: with(via(strconv.Itoa(c.port)), pairs...)}
	spec.Identify()
	cl, err := Kind.Open(spec, depsOf(rolePassword))
	if err != nil {
		t.Fatalf("open %s=%q: %v", selector, value, err)
	}
	t.Cleanup(func() { residue.Close(cl) })
	return cl
}

// clean finds one residue and removes it.
func clean(t *testing.T, c residue.Cleaner) error {
	t.Helper()
	found, err := c.Find(context.Background())
	if err != nil {
		return err
	}
	if len(found) != 1 {
		t.Fatalf("found %d, want 1: %+v", len(found), found)
	}
	return c.Remove(context.Background(), found[0])
}

func want(t *testing.T, what string, err error, word string) {
	t.Helper()
	if got := cleantest.Verdict(err); got != word {
		t.Errorf("%s: %s, want %s (%v)", what, got, word, err)
	}
}

// world is what the suite needs to know of one selector.
type world struct {
	make   func(t testing.TB) string
	exists func(ref string) string // a query that answers t or f
	remove func(ref string) string
	decoy  func(t testing.TB, ref string) (sql, check string) // check answers t while all is well
	pairs  func(ref string) []string
	state  string
}

func TestConformance(t *testing.T) {
	c := postgres(t)
	gid := func(ref string) string { return "'" + strings.ReplaceAll(ref, "'", "''") + "'" }
	worlds := map[string]world{
		"DropSchema": {
			make: func(t testing.TB) string {
				name := fresh(`job "x";é.%`)
				q := quote(name)
				c.run(t, "CREATE SCHEMA "+q+" AUTHORIZATION batch; SET ROLE batch; CREATE TABLE "+q+".a (id int PRIMARY KEY); CREATE TABLE "+q+".b (a int REFERENCES "+q+".a); "+
					"CREATE VIEW "+q+".v AS SELECT * FROM "+q+".a; CREATE SEQUENCE "+q+".s; CREATE TYPE "+q+".e AS ENUM ('x'); CREATE TABLE "+q+".p (k int) PARTITION BY LIST (k); "+
					"CREATE TABLE "+q+".p1 PARTITION OF "+q+".p FOR VALUES IN (1); CREATE FUNCTION "+q+".f() RETURNS int LANGUAGE sql AS 'SELECT 1'; INSERT INTO "+q+".a VALUES (1)")
				return name
			},
			exists: func(ref string) string {
				return "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = " + gid(ref) + ")"
			},
			remove: func(ref string) string { return "DROP SCHEMA " + quote(ref) + " CASCADE" },
			decoy: func(_ testing.TB, ref string) (string, string) {
				return "CREATE SCHEMA " + quote(ref+"0") + " AUTHORIZATION batch; CREATE TABLE " + quote(ref+"0") + ".a ()", "SELECT EXISTS (SELECT FROM pg_tables WHERE schemaname = " + gid(ref+"0") + ")"
			},
			state: "SELECT string_agg(nspname, ',' ORDER BY oid) || (SELECT count(*) FROM pg_class) FROM pg_namespace WHERE nspname NOT LIKE 'pg_temp%' AND nspname NOT LIKE 'pg_toast_temp%'",
		},
		"DropDatabase": {
			make: func(t testing.TB) string {
				name := fresh(`job"db`)
				c.run(t, "CREATE DATABASE "+quote(name)+" OWNER batch")
				return name
			},
			exists: func(ref string) string {
				return "SELECT EXISTS (SELECT FROM pg_database WHERE datname = " + gid(ref) + ")"
			},
			remove: func(ref string) string { return "DROP DATABASE " + quote(ref) },
			decoy: func(t testing.TB, ref string) (string, string) {
				return "CREATE DATABASE " + quote(ref+"0") + " OWNER batch", "SELECT EXISTS (SELECT FROM pg_database WHERE datname = " + gid(ref+"0") + ")"
			},
			state: "SELECT string_agg(datname, ',' ORDER BY oid) FROM pg_database",
		},
		"Truncate": {
			make: func(t testing.TB) string {
				name := fresh("job.table")
				ref := `public."` + name + `"`
				c.run(t, "CREATE TABLE "+ref+" (id int); ALTER TABLE "+ref+" OWNER TO batch; INSERT INTO "+ref+" VALUES (1), (2)")
				return ref
			},
			exists: func(ref string) string { return "SELECT count(*) > 0 FROM " + ref },
			remove: func(ref string) string { return "DELETE FROM " + ref },
			decoy: func(_ testing.TB, ref string) (string, string) {
				d := strings.TrimSuffix(ref, `"`) + `0"`
				return "CREATE TABLE " + d + " (id int); ALTER TABLE " + d + " OWNER TO batch; INSERT INTO " + d + " VALUES (1)", "SELECT count(*) = 1 FROM " + d
			},
		},
		"DeleteFrom": {
			make: func(t testing.TB) string {
				ref := "public." + fresh("shared")
				c.run(t, "CREATE TABLE "+ref+" (job text, x int); ALTER TABLE "+ref+" OWNER TO batch; INSERT INTO "+ref+" SELECT 'j''1', x FROM generate_series(1, 100) x")
				return ref
			},
			exists: func(ref string) string { return "SELECT count(*) > 0 FROM " + ref + " WHERE job = 'j''1'" },
			remove: func(ref string) string { return "DELETE FROM " + ref + " WHERE job = 'j''1'" },
			decoy: func(_ testing.TB, ref string) (string, string) {
				return "INSERT INTO " + ref + " VALUES ('j''10', 1), ('J''1', 2), (' j''1', 3), (NULL, 4)", "SELECT count(*) = 4 FROM " + ref + " WHERE job IS DISTINCT FROM 'j''1'"
			},
			pairs: func(string) []string { return []string{"Column", "job", "Equals", "j'1"} },
		},
		"TerminateBackends": {
			make: func(t testing.TB) string {
				name := fresh("job app")
				c.holdAs(t, "batch", "app", name, "")
				return name
			},
			exists: func(ref string) string {
				return "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = " + gid(ref) + ")"
			},
			remove: func(ref string) string {
				return "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = " + gid(ref)
			},
			decoy: func(t testing.TB, ref string) (string, string) {
				c.holdAs(t, "batch", "app", ref+"0", "")
				return "SELECT 1", "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = " + gid(ref+"0") + ")"
			},
		},
		"RollbackPrepared": {
			make: func(t testing.TB) string {
				ref := fresh(`j'"\ %s;--`)
				c.run(t, "SET ROLE batch; SET standard_conforming_strings = on; BEGIN; SELECT pg_advisory_xact_lock("+strconv.FormatInt(serial.Load(), 10)+"); PREPARE TRANSACTION "+gid(ref))
				return ref
			},
			exists: func(ref string) string {
				return "SELECT EXISTS (SELECT FROM pg_prepared_xacts WHERE gid = " + gid(ref) + ")"
			},
			remove: func(ref string) string { return "ROLLBACK PREPARED " + gid(ref) },
			decoy: func(t testing.TB, ref string) (string, string) {
				t.Cleanup(func() { c.run(t, "ROLLBACK PREPARED "+gid(ref+"0")) })
				return "BEGIN; SELECT 1; PREPARE TRANSACTION " + gid(ref+"0"), "SELECT EXISTS (SELECT FROM pg_prepared_xacts WHERE gid = " + gid(ref+"0") + ")"
			},
		},
		"DropSlot": {
			make: func(t testing.TB) string {
				ref := fresh("job_slot")
				c.run(t, "SELECT pg_create_physical_replication_slot("+gid(ref)+")")
				t.Cleanup(func() {
					c.run(t, "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name LIKE "+gid(ref+"%"))
				})
				return ref
			},
			exists: func(ref string) string {
				return "SELECT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = " + gid(ref) + ")"
			},
			remove: func(ref string) string { return "SELECT pg_drop_replication_slot(" + gid(ref) + ")" },
			decoy: func(_ testing.TB, ref string) (string, string) {
				return "SELECT pg_create_physical_replication_slot(" + gid(ref+"0") + ")", "SELECT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = " + gid(ref+"0") + ")"
			},
		},
	}
	for _, sel := range Kind.Selectors {
		t.Run(sel.Key, func(t *testing.T) { worlds[sel.Key].check(t, c, sel.Key) })
	}
}

func (w world) check(t *testing.T, c *cluster, selector string) {
	d := c.behindDoor(t)
	s := cleantest.Subject{
		Kind: Kind,
		Spec: func(ref string) residue.Spec {
			options := via(port(d))
			if w.pairs != nil {
				with(options, w.pairs(ref)...)
			}
			return residue.Spec{Selector: selector, Value: ref, Options: options}
		},
		Deps:             func(testing.TB) residue.Deps { return depsOf(rolePassword) },
		WrongCredentials: func(testing.TB) residue.Deps { return depsOf("wrong") },
		Secrets:          []string{rolePassword, "s3cr3t-p"},
		Make:             w.make,
		Exists:           func(t testing.TB, ref string) bool { return c.ask(t, w.exists(ref)) == "t" },
		Remove:           func(t testing.TB, ref string) { c.ask(t, w.remove(ref)) },
		Decoy: func(t testing.TB, ref string) func() error {
			sql, check := w.decoy(t, ref)
			c.run(t, sql)
			return func() error {
				if got := c.ask(t, check); got != "t" {
					return errors.New("the neighbour is not as it was")
				}
				return nil
			}
		},
		Down: func(testing.TB) { d.Shut() },
		Up:   func(testing.TB) { d.Open() },
	}
	if w.state != "" {
		s.State = func(t testing.TB, _ string) string { return c.ask(t, w.state) }
	}
	cleantest.Run(t, s)
}
