package postgres

import (
	"context"
	"strconv"
	"strings"

	"job-cleanup/pkg/residue"
)

// batch is how many relations one transaction drops. The server's lock table
// is finite, and one DROP SCHEMA takes a lock for every table, index and
// sequence.
const batch = 100

// schema is a schema by its name.
type schema struct{ name string }

func (t schema) look(ctx context.Context, s *session) (proofs []map[string]string, err error) {
	err = s.read(ctx, func() error {
		proofs, err = t.proofs(ctx, s)
		return err
	})
	return proofs, err
}

func (t schema) proofs(ctx context.Context, s *session) ([]map[string]string, error) {
	rows, err := s.rows(ctx, "SELECT oid, pg_get_userbyid(nspowner), current_database() FROM pg_namespace WHERE nspname::text = $1", t.name)
	return named(rows, "oid", "owner", "database"), err
}

// named makes proofs of rows.
func named(rows [][]string, keys ...string) []map[string]string {
	var all []map[string]string
	for _, row := range rows {
		proof := map[string]string{}
		for i, key := range keys {
			proof[key] = row[i]
		}
		all = append(all, proof)
	}
	return all
}

// named reads the proofs of what has a name, by a query for that name.
func (s *session) named(ctx context.Context, query, name string, keys ...string) (proofs []map[string]string, err error) {
	err = s.read(ctx, func() error {
		rows, err := s.rows(ctx, query, name)
		proofs = named(rows, keys...)
		return err
	})
	return proofs, err
}

// remove empties the schema in batches, then drops it.
func (t schema) remove(ctx context.Context, s *session, proof map[string]string) error {
	for size, done := batch, false; !done; {
		err := s.write(ctx, func() error {
			var err error
			done, err = t.shrink(ctx, s, proof, size)
			return err
		})
		switch {
		case codeOf(err) == codeNoMemory && size > 1:
			size, done = (size+3)/4, false
		case err != nil:
			return err
		}
	}
	return nil
}

// same answers with an error unless the schema is the one of the proof.
func (t schema) same(ctx context.Context, s *session, proof map[string]string) error {
	now, err := t.proofs(ctx, s)
	switch {
	case err != nil:
		return err
	case len(now) == 0:
		return residue.ErrGone
	case now[0]["oid"] != proof["oid"] || now[0]["database"] != proof["database"]:
		return lost("schema %q is not the one that was recorded", t.name)
	}
	return nil
}

// shrink drops up to size relations of one sort, or, when none is left, the
// schema itself with what takes no lock table to drop.
func (t schema) shrink(ctx context.Context, s *session, proof map[string]string, size int) (done bool, err error) {
	if err := t.same(ctx, s, proof); err != nil {
		return false, err
	}
	word, names, err := t.some(ctx, s, proof["oid"], size)
	if err != nil {
		return false, err
	}
	if err := t.dependents(ctx, s, proof["oid"], names); err != nil {
		return false, err
	}
	if len(names) == 0 {
		_, err := s.exec(ctx, "DROP SCHEMA "+quote(t.name)+" CASCADE")
		return true, err
	}
	var list []string
	for _, name := range names {
		list = append(list, table{t.name, name}.sql())
	}
	_, err = s.exec(ctx, "DROP "+word+" IF EXISTS "+strings.Join(list, ", ")+" CASCADE")
	return false, err
}

// some lists relations of one sort. Views come first and parents last, so that
// no statement takes more along than it names.
func (t schema) some(ctx context.Context, s *session, oid string, size int) (word string, names []string, err error) {
	rows, err := s.rows(ctx, `
		SELECT k.word, c.relname FROM pg_class c
		JOIN (VALUES ('v', 1, 'VIEW'), ('m', 2, 'MATERIALIZED VIEW'), ('r', 3, 'TABLE'), ('p', 3, 'TABLE'), ('f', 4, 'FOREIGN TABLE'), ('S', 5, 'SEQUENCE'))
			AS k (kind, rank, word) ON k.kind = c.relkind::text
		WHERE c.relnamespace = $1::oid
		ORDER BY k.rank, EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = c.oid), c.oid
		LIMIT $2::int`, oid, strconv.Itoa(size))
	for _, row := range rows {
		if row[0] != rows[0][0] {
			break
		}
		word, names = row[0], append(names, row[1])
	}
	return word, names, err
}

// dependents answers with an error when something outside of the schema would
// be dropped along: it is somebody else's.
func (t schema) dependents(ctx context.Context, s *session, oid string, names []string) error {
	list := "ALL"
	if len(names) > 0 {
		list = "SOME"
	}
	rows, err := s.rows(ctx, outsideQuery, oid, list, array(names))
	if err == nil && len(rows) > 0 {
		err = residue.Errorf(residue.Retry, residue.InUse, "%s, outside of schema %q, depends on it", rows[0][0], t.name)
	}
	return err
}

// array writes texts as a PostgreSQL array.
func array(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
	}
	return "{" + strings.Join(quoted, ",") + "}"
}
