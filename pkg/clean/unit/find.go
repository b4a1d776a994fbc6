package unit

import (
	"context"
	"errors"

	"job-cleanup/pkg/manager"
	"job-cleanup/pkg/residue"
)

// proofInvocation is the key of the one proof that there is: the invocation id
// of the unit.
const proofInvocation = "invocation"

// Find looks the unit up by name, or lists those that match. Units that are
// not loaded are not there; looking loads none.
func (c *cleaner) Find(ctx context.Context) ([]residue.Residue, error) {
	var found []residue.Residue
	var doubts []error
	err := c.connected(ctx, func(conn *manager.Conn) error {
		candidates, err := c.candidates(ctx, conn)
		if err != nil {
			return err
		}
		for _, name := range candidates {
			r, err := c.look(ctx, conn, name)
			if err != nil {
				doubts = append(doubts, err)
			}
			found = append(found, r...)
		}
		return nil
	})
	if err != nil {
		return nil, answer(ctx, err)
	}
	return found, worst(doubts)
}

// candidates are the names to look at.
func (c *cleaner) candidates(ctx context.Context, conn *manager.Conn) ([]string, error) {
	if c.want.pattern == "" {
		return []string{c.want.name}, nil
	}
	// The whole list, since the manager's idea of a pattern may be another.
	listed, err := conn.List(ctx)
	if err != nil {
		return nil, err
	}
	var candidates []string
	for _, l := range listed {
		if matches(c.want.pattern, l.Name) && l.Name != c.job.Unit {
			candidates = append(candidates, l.Name)
		}
	}
	return candidates, nil
}

// look returns the unit if it is residue.
func (c *cleaner) look(ctx context.Context, conn *manager.Conn, name string) ([]residue.Residue, error) {
	u, err := conn.Unit(ctx, name)
	switch {
	case errors.Is(err, manager.ErrNotLoaded):
		return nil, nil
	case err != nil:
		return nil, answer(ctx, err)
	case !c.is(u), c.want.invocation != "" && u.Invocation != c.want.invocation:
		return nil, nil
	}
	if c.want.pattern != "" {
		if !c.job.Start.IsZero() && u.Started.Before(c.job.Start) {
			return nil, nil
		}
		if !u.Transient {
			return nil, residue.Errorf(residue.Refused, residue.Protected, "installed unit %q must be named in full, not by a pattern", u.Name)
		}
	}
	if err := c.ours(u); err != nil {
		return nil, err
	}
	return []residue.Residue{c.residue(u)}, nil
}

// is reports whether the unit is in the state that the spec looks for.
func (c *cleaner) is(u manager.Unit) bool {
	if c.failed {
		return u.ActiveState == "failed"
	}
	return u.ActiveState != "inactive" && u.ActiveState != "failed"
}

// ours checks a unit that was found: its real name, since an alias may lead to
// any, and its time. What began after the job ended may be the next job's, or
// a helper that restarts: it is neither stopped nor forgotten.
func (c *cleaner) ours(u manager.Unit) error {
	if err := c.names.check(u.Name); err != nil {
		return c.refusal(err)
	}
	if !c.job.End.IsZero() && u.Started.After(c.job.End) {
		return residue.Errorf(residue.Retry, residue.InUse, "unit %q began after the job had ended", u.Name)
	}
	return nil
}

func (c *cleaner) residue(u manager.Unit) residue.Residue {
	r := residue.Residue{Type: typeRunning, Ref: u.Name}
	if c.failed {
		r.Type = typeFailed
	}
	if u.Invocation != "" {
		r.Proof = map[string]string{proofInvocation: u.Invocation}
	}
	r.Identify()
	return r
}
