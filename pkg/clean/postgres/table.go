package postgres

import (
	"context"

	"job-cleanup/pkg/residue"
)

// lookup returns the oid of an ordinary or partitioned table, "" when there is
// none of the name. It locks it against being replaced. Views and foreign
// tables are refused: what a statement on them does is somebody's code.
func (t table) lookup(ctx context.Context, s *session, mode string) (string, error) {
	if _, err := s.exec(ctx, "LOCK TABLE "+t.sql()+" IN "+mode+" MODE"); missingName(err) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	rows, err := s.rows(ctx, `SELECT c.oid, c.relkind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname::text = $1 AND c.relname::text = $2`, t.schema, t.name)
	switch {
	case err != nil:
		return "", err
	case len(rows) != 1:
		return "", lost("table %s was replaced just now", t.sql())
	case rows[0][1] != "r" && rows[0][1] != "p":
		return "", protected("%s is not a table", t.sql())
	}
	return rows[0][0], nil
}

// locked runs do in a transaction with the table's oid. ErrGone when there is
// no such table.
func (t table) locked(ctx context.Context, s *session, mode string, do func(oid string) error) error {
	run := s.write
	if mode == "ACCESS SHARE" {
		run = s.read
	}
	return run(ctx, func() error {
		oid, err := t.lookup(ctx, s, mode)
		if err == nil && oid == "" {
			err = residue.ErrGone
		}
		if err != nil {
			return err
		}
		return do(oid)
	})
}

// truncate is a table of the job's own, to be emptied.
type truncate struct{ table }

func (t truncate) look(ctx context.Context, s *session) (proofs []map[string]string, err error) {
	err = t.locked(ctx, s, "ACCESS SHARE", func(oid string) error {
		rows, err := s.rows(ctx, "SELECT current_database() FROM (SELECT FROM "+t.sql()+" LIMIT 1) AS any_row")
		for _, row := range rows {
			proofs = append(proofs, map[string]string{"oid": oid, "database": row[0]})
		}
		return err
	})
	return proofs, absent(err)
}

// absent turns ErrGone of a look into nothing found.
func absent(err error) error {
	if e := residue.AsError(err); e != nil && e.Class == residue.Gone {
		return nil
	}
	return err
}

func (t truncate) remove(ctx context.Context, s *session, proof map[string]string) error {
	return t.locked(ctx, s, "ACCESS EXCLUSIVE", func(oid string) error {
		if oid != proof["oid"] {
			return lost("table %s is not the one that was recorded", t.sql())
		}
		rows, err := s.rows(ctx, "SELECT FROM "+t.sql()+" LIMIT 1")
		if err == nil && len(rows) == 0 {
			err = residue.ErrGone
		}
		if err != nil {
			return err
		}
		_, err = s.exec(ctx, "TRUNCATE TABLE "+t.sql())
		return err
	})
}
