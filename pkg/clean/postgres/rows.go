package postgres

import (
	"context"
	"fmt"

	"job-cleanup/pkg/residue"
)

// portion is how many rows one transaction deletes, so that each ends within
// the statement's time and what was done stays done.
const portion = 20000

// rows are the rows of a shared table that carry the job's id.
type rows struct {
	table
	column string
	equals string
}

func newRows(spec residue.Spec) (target, error) {
	t, err := parseTable(spec.Value)
	if err != nil {
		return nil, err
	}
	r := rows{t, spec.Option("Column"), spec.Option("Equals")}
	if r.column == "" || r.equals == "" {
		return nil, refused("DeleteFrom=%q needs Column= and Equals=", spec.Value)
	}
	return r, checkName("column", r.column)
}

// where is the condition; $1 is the job's id.
func (t rows) where() string { return quote(t.column) + " = $1" }

func (t rows) proof(oid, database string) map[string]string {
	return map[string]string{"oid": oid, "database": database, "column": t.column, "equals": t.equals}
}

func (t rows) look(ctx context.Context, s *session) (proofs []map[string]string, err error) {
	err = t.locked(ctx, s, "ACCESS SHARE", func(oid string) error {
		if err := t.exact(ctx, s, oid); err != nil {
			return err
		}
		found, err := s.rows(ctx, "SELECT current_database() FROM (SELECT FROM "+t.sql()+" WHERE "+t.where()+" LIMIT 1) AS any_row", t.equals)
		for _, row := range found {
			proofs = append(proofs, t.proof(oid, row[0]))
		}
		return err
	})
	return proofs, absent(err)
}

// exactTypes are those in which two values are equal only if they are the same
// id. The equality of another type, or of a collation that ignores case, is
// somebody's code.
const exactTypes = `('text', 'varchar', 'bpchar', 'name', 'uuid', 'int2', 'int4', 'int8', 'numeric', 'oid')`

// exact refuses a column in which another job's id could equal ours.
func (t rows) exact(ctx context.Context, s *session, oid string) error {
	found, err := s.rows(ctx, `
		SELECT y.typname, y.typnamespace = 'pg_catalog'::regnamespace AND y.typname IN `+exactTypes+`
			AND COALESCE(l.collisdeterministic, true)
		FROM pg_attribute a
		JOIN pg_type d ON d.oid = a.atttypid
		JOIN pg_type y ON y.oid = CASE d.typtype WHEN 'd' THEN d.typbasetype ELSE d.oid END
		LEFT JOIN pg_collation l ON l.oid = a.attcollation
		WHERE a.attrelid = $1::oid AND a.attname::text = $2 AND a.attnum > 0 AND NOT a.attisdropped`, oid, t.column)
	switch {
	case err != nil:
		return err
	case len(found) == 0:
		return residue.Errorf(residue.Retry, residue.Other, "table %s has no column %q", t.sql(), t.column)
	case found[0][1] != "t":
		return refused("column %q of %s has the type %q, in which different ids can be equal", t.column, t.sql(), found[0][0])
	}
	return nil
}

// remove deletes in portions until none is left.
func (t rows) remove(ctx context.Context, s *session, proof map[string]string) error {
	total := int64(0)
	for {
		n, err := t.portion(ctx, s, proof)
		total += n
		switch {
		case err != nil && total > 0 && absent(err) == nil:
			return nil // the table went meanwhile
		case err != nil:
			return err
		case n == 0:
			return t.left(ctx, s, total)
		}
	}
}

func (t rows) portion(ctx context.Context, s *session, proof map[string]string) (n int64, err error) {
	err = t.locked(ctx, s, "ROW EXCLUSIVE", func(oid string) error {
		if oid != proof["oid"] || proof["column"] != t.column || proof["equals"] != t.equals {
			return lost("table %s is not the one that was recorded", t.sql())
		}
		if err := t.exact(ctx, s, oid); err != nil {
			return err
		}
		var err error
		n, err = s.exec(ctx, fmt.Sprintf("DELETE FROM %[1]s WHERE ctid = ANY (ARRAY (SELECT ctid FROM %[1]s WHERE %[2]s LIMIT %[3]d)) AND %[2]s",
			t.sql(), t.where(), portion), t.equals)
		return err
	})
	if err != nil {
		n = 0
	}
	return n, err
}

// left answers for a deletion that found nothing more to do. Rows may be there
// all the same: a trigger keeps them, or a policy hides them from it.
func (t rows) left(ctx context.Context, s *session, total int64) error {
	still, err := t.look(ctx, s)
	switch {
	case err != nil:
		return err
	case len(still) > 0:
		return residue.Errorf(residue.Retry, residue.StillWritten, "rows of %q stay in, or come back to, %s", t.equals, t.sql())
	case total == 0:
		return residue.ErrGone
	}
	return nil
}
