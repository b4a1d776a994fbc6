package postgres

import (
	"context"

	"job-cleanup/pkg/residue"
)

// prepared is a prepared transaction by its identifier, in whichever database
// of the server it was prepared.
type prepared struct{ gid string }

func (t prepared) look(ctx context.Context, s *session) ([]map[string]string, error) {
	return s.named(ctx,
		"SELECT (extract(epoch FROM prepared) * 1000000)::bigint, transaction, owner, database FROM pg_prepared_xacts WHERE gid = $1",
		t.gid, "prepared", "transaction", "owner", "database")
}

// remove rolls it back. The statement takes no parameters; the server itself
// writes the identifier as a literal.
func (t prepared) remove(ctx context.Context, s *session, proof map[string]string) error {
	now, err := t.look(ctx, s)
	switch {
	case err != nil:
		return err
	case len(now) == 0:
		return residue.ErrGone
	case !matches(proof, now[0]):
		return lost("prepared transaction %q is not the one that was recorded", t.gid)
	}
	return s.at(ctx, proof["database"], func(s *session) error {
		literal, err := s.rows(ctx, "SELECT quote_literal($1)", t.gid)
		if err != nil {
			return err
		}
		err = s.alone(ctx, "ROLLBACK PREPARED "+literal[0][0])
		if missingName(err) {
			return residue.ErrGone
		}
		return err
	})
}

// slot is a replication slot by its name.
type slot struct{ name string }

func (t slot) look(ctx context.Context, s *session) ([]map[string]string, error) {
	return s.named(ctx,
		"SELECT slot_type, plugin, database FROM pg_replication_slots WHERE slot_name::text = $1",
		t.name, "type", "plugin", "database")
}

// remove drops the slot; the server refuses while somebody reads from it.
func (t slot) remove(ctx context.Context, s *session, proof map[string]string) error {
	now, err := t.look(ctx, s)
	switch {
	case err != nil:
		return err
	case len(now) == 0:
		return residue.ErrGone
	case !matches(proof, now[0]):
		return lost("replication slot %q is not the one that was recorded", t.name)
	}
	err = s.write(ctx, func() error {
		_, err := s.rows(ctx, "SELECT pg_drop_replication_slot($1)", t.name)
		return err
	})
	if missingName(err) {
		return residue.ErrGone
	}
	return err
}
