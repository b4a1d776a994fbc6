package postgres

import (
	"context"

	"job-cleanup/pkg/residue"
)

// database is a database by its name.
type database struct {
	name  string
	force bool // disconnect others
}

func (t database) look(ctx context.Context, s *session) (proofs []map[string]string, err error) {
	err = s.read(ctx, func() error {
		rows, err := s.rows(ctx, "SELECT oid, pg_get_userbyid(datdba), datistemplate FROM pg_database WHERE datname::text = $1", t.name)
		if err == nil && len(rows) > 0 && rows[0][2] == "t" {
			return protected("database %q is a template", t.name)
		}
		proofs = named(rows, "oid", "owner")
		return err
	})
	return proofs, err
}

// remove drops the database. The name is looked up right before: the statement
// itself takes nothing else.
func (t database) remove(ctx context.Context, s *session, proof map[string]string) error {
	now, err := t.look(ctx, s)
	switch {
	case err != nil:
		return err
	case len(now) == 0:
		return residue.ErrGone
	case now[0]["oid"] != proof["oid"]:
		return lost("database %q is not the one that was recorded", t.name)
	}
	sql := "DROP DATABASE " + quote(t.name)
	if t.force {
		sql += " WITH (FORCE)"
	}
	err = s.alone(ctx, sql)
	if missingName(err) {
		return residue.ErrGone
	}
	return err
}
