// Package postgres removes what a job left in a PostgreSQL server: schemas,
// databases, rows, backends, prepared transactions and replication slots.
//
// Everything is named exactly and recognised by what the server itself says of
// it (an object id, a start time), so that a thing of the same name that came
// later is left alone. All statements run under lock_timeout and
// statement_timeout and with an empty search path.
package postgres

import (
	"context"
	"errors"
	"io"
	"maps"

	"job-cleanup/pkg/residue"
)

// Kind is the code for residue in a PostgreSQL server.
var Kind = &residue.Kind{
	Name: "postgres",
	Doc: "Schemas, databases, rows, backends, prepared transactions and replication slots in a PostgreSQL server, by exact name as its catalogs have it. " +
		"What `DSN=` says wins over the service, and that over the single keys.",
	Selectors: selectors,
	Options:   options,
	Open:      open,
}

var selectors = []residue.Selector{
	{Key: "TerminateBackends", Type: "backend", Value: residue.Name, Phase: residue.Processes,
		Marks:   []residue.Mark{{Key: "pid", Doc: "the backend's process id, as pg_backend_pid() says"}},
		Doc:     "An application_name: its backends that began with the job are ended. One that is older is a pool's, and is owed.",
		Example: "batch-%i"},
	{Key: "RollbackPrepared", Type: "prepared", Value: residue.Name, Phase: residue.Data,
		Doc: "The identifier of a prepared transaction, which is rolled back.", Example: "batch-%i"},
	{Key: "DropSlot", Type: "slot", Value: residue.Name, Phase: residue.Data, ByName: true,
		Doc: "A replication slot that nobody reads from.", Example: "batch_%i"},
	{Key: "DeleteFrom", Type: "rows", Value: residue.String, Phase: residue.Data, ByName: true, Rank: 1,
		Doc: "SCHEMA.TABLE: the rows where `Column=` equals `Equals=` are deleted.", Example: "public.orders"},
	{Key: "Truncate", Type: "table", Value: residue.Name, Phase: residue.Data, ByName: true, Rank: 1,
		Doc: "SCHEMA.TABLE that is this job's alone, which is emptied. Of a shared one take the rows: `DeleteFrom=`.", Example: "batch_%i.orders"},
	{Key: "DropSchema", Type: "schema", Value: residue.Name, Phase: residue.Data, ByName: true, Rank: 1,
		Doc: "A schema with all that is in it, unless something elsewhere depends on that.", Example: "batch_%i"},
	{Key: "DropDatabase", Type: "database", Value: residue.Name, Phase: residue.Data, ByName: true, Rank: 2,
		Doc: "A database, unless somebody is connected to it.", Example: "batch_%i"},
}

var options = []residue.Option{
	{Key: "DSN", Value: residue.String, Doc: "A connection URI or keywords and values, without a password.", Example: "postgresql://batch@db.example/app"},
	{Key: "Service", Value: residue.String, Env: "PGSERVICE", Doc: "A service of the service file.", Example: "batch"},
	{Key: "ServiceFile", Value: residue.Path, Env: "PGSERVICEFILE", Doc: "That file. No other is looked for.", Example: "/etc/batch/pg_service.conf"},
	{Key: "Host", Value: residue.String, Env: "PGHOST", Doc: "The server, or the folder of its socket. Without one: /run/postgresql.", Example: "db.example"},
	{Key: "Port", Value: residue.Number, Env: "PGPORT", Doc: "Its port. Without one: 5432.", Example: "5433"},
	{Key: "Database", Value: residue.String, Env: "PGDATABASE", Doc: "The database to connect to. Without one: that of the user's name.", Example: "app"},
	{Key: "User", Value: residue.String, Env: "PGUSER", Doc: "The role to connect as. Without one: that of the job's user.", Example: "batch"},
	{Key: "Password", Value: residue.SecretRef, Env: "PGPASSWORD", Doc: "Its password.", Example: "credential:db"},
	{Key: "PassFile", Value: residue.Path, Env: "PGPASSFILE", Doc: "A password file as libpq reads it. No other is looked for.", Example: "/etc/batch/pgpass"},
	{Key: "SSLMode", Value: residue.String, Env: "PGSSLMODE", Doc: "`disable`, `allow`, `prefer`, `require`, `verify-ca` or `verify-full`. Without one: `prefer`, as libpq has it.", Example: "verify-full"},
	{Key: "CACert", Value: residue.Path, Env: "PGSSLROOTCERT", Doc: "The certificates to verify the server with.", Example: "/etc/batch/ca.pem"},
	{Key: "Column", Value: residue.String, Doc: "Of `DeleteFrom=`: the column that holds the job's id.", Example: "job_id"},
	{Key: "Equals", Value: residue.Name, Doc: "Of `DeleteFrom=`: the job's id. It is sent as a parameter.", Example: "%i"},
	{Key: "Force", Value: residue.Bool, Default: "no", Doc: "Of `DropDatabase=`: disconnect who is connected.", Example: "yes"},
	{Key: "LockTimeoutSec", Value: residue.Span, Default: "2s", Doc: "For a lock that somebody else holds. The residue is owed then.", Example: "500ms"},
	{Key: "StatementTimeoutSec", Value: residue.Span, Default: "9s", Doc: "For one statement.", Example: "5s"},
}

// target is one selector's knowledge of the catalogs. A proof is what the
// server says of one thing: the keys differ from target to target.
type target interface {
	// look returns the proof of each thing of the target's name.
	look(context.Context, *session) ([]map[string]string, error)

	// remove removes the thing that has this proof, or answers with ErrGone or
	// an error of class Lost.
	remove(ctx context.Context, s *session, proof map[string]string) error
}

// cleaner is one spec with all that is needed to connect.
type cleaner struct {
	spec   residue.Spec
	target target
	server *line
	many   bool // several things can have the name
}

var (
	_ residue.Endpointer = (*cleaner)(nil)
	_ residue.Prover     = (*cleaner)(nil)
	_ io.Closer          = (*cleaner)(nil)
)

func open(spec residue.Spec, deps residue.Deps) (residue.Cleaner, error) {
	if spec.Tracked != nil {
		spec.Value = spec.Tracked.Ref
	}
	t, err := newTarget(spec, deps)
	if err != nil {
		return nil, err
	}
	srv, err := newServer(spec, deps)
	if err != nil {
		return nil, err
	}
	return &cleaner{spec: spec, target: t, server: &line{server: srv}, many: spec.Selector == "TerminateBackends"}, nil
}

// newTarget checks the name that is selected.
func newTarget(spec residue.Spec, deps residue.Deps) (target, error) {
	switch spec.Selector {
	case "DropSchema":
		return schema{spec.Value}, checkSchema(spec.Value)
	case "DropDatabase":
		return database{spec.Value, spec.Option("Force") == "yes"}, checkDatabase(spec.Value)
	case "Truncate":
		t, err := parseTable(spec.Value)
		return truncate{t}, err
	case "DeleteFrom":
		return newRows(spec)
	case "TerminateBackends":
		return backends{spec.Value, deps.Job, deps.Now}, checkName("application_name", spec.Value)
	case "RollbackPrepared":
		return prepared{spec.Value}, checkGID(spec.Value)
	case "DropSlot":
		return slot{spec.Value}, checkName("slot", spec.Value)
	}
	return nil, refused("postgres has no selector %q", spec.Selector)
}

// Endpoint is the server's address.
func (c *cleaner) Endpoint() string { return "postgres://" + c.server.address() }

// Close disconnects.
func (c *cleaner) Close() error { return c.server.close() }

// Find looks the name up. Nothing is locked against writers.
func (c *cleaner) Find(ctx context.Context) ([]residue.Residue, error) {
	var recorded map[string]string
	if c.spec.Tracked != nil {
		recorded = c.spec.Tracked.Proof
	}
	proofs, err := c.look(ctx)
	if c.wentAlong(recorded, err) {
		return nil, nil
	}
	var all []residue.Residue
	for _, proof := range proofs {
		if matches(recorded, proof) {
			all = append(all, c.residue(proof))
		}
	}
	if err == nil && len(all) == 0 && len(proofs) > 0 && !c.many {
		err = lost("%q is not the one that was recorded", c.spec.Value)
	}
	return all, err
}

func (c *cleaner) look(ctx context.Context) (proofs []map[string]string, err error) {
	err = c.server.use(ctx, func(s *session) error {
		var err error
		proofs, err = c.target.look(ctx, s)
		return err
	})
	return proofs, err
}

// Prove records what the server says of the thing now. Several backends of one
// name stay an intent.
func (c *cleaner) Prove(ctx context.Context) (residue.Residue, error) {
	found, err := c.Find(ctx)
	if err != nil || len(found) != 1 {
		return *c.spec.Tracked, err
	}
	return found[0], nil
}

// Remove removes the thing if it is still the one that was found.
func (c *cleaner) Remove(ctx context.Context, r residue.Residue) error {
	err := c.server.use(ctx, func(s *session) error { return c.target.remove(ctx, s, r.Proof) })
	if c.wentAlong(r.Proof, err) {
		return residue.ErrGone
	}
	return err
}

// wentAlong reports whether a thing went with the database it was seen in.
// Without a record of that, a missing database may be a mistake in the plan.
func (c *cleaner) wentAlong(recorded map[string]string, err error) bool {
	return errors.Is(err, errNoDatabase) && recorded["database"] != "" && recorded["database"] == c.server.config.Database
}

func (c *cleaner) residue(proof map[string]string) residue.Residue {
	sel, _ := Kind.Selector(c.spec.Selector)
	r := residue.Residue{Type: sel.Type, Ref: c.spec.Value, Proof: maps.Clone(proof)}
	r.Identify()
	return r
}

// matches reports whether all that was recorded still holds.
func matches(recorded, now map[string]string) bool {
	for key, value := range recorded {
		if now[key] != value {
			return false
		}
	}
	return true
}
