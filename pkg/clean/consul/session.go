package consul

import (
	"context"

	"job-cleanup/pkg/residue"
)

// sessionCleaner destroys a session, or all of a name.
type sessionCleaner struct {
	*site
	value string // an id or a name
}

var (
	_ residue.Prover     = (*sessionCleaner)(nil)
	_ residue.Endpointer = (*sessionCleaner)(nil)
)

// Find looks the session up.
func (c *sessionCleaner) Find(ctx context.Context) ([]residue.Residue, error) {
	id := c.recorded()
	if uuid.MatchString(c.value) {
		id = c.value
	}
	if id == "" {
		return c.findNamed(ctx)
	}
	_, err := c.session(ctx, id)
	if residue.IsGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []residue.Residue{c.residue("session", c.value, id)}, nil
}

func (c *sessionCleaner) findNamed(ctx context.Context) ([]residue.Residue, error) {
	entries, err := c.named(ctx, c.value)
	if err != nil {
		return nil, err
	}
	var found []residue.Residue
	for _, entry := range entries {
		found = append(found, c.residue("session", c.value, entry.ID))
	}
	return found, nil
}

// Remove destroys the session. What it still holds is released, or deleted if
// that is its behaviour.
func (c *sessionCleaner) Remove(ctx context.Context, r residue.Residue) error {
	id := r.Proof["session"]
	if !uuid.MatchString(id) {
		return residue.Errorf(residue.Refused, residue.Changed, "nobody recorded the id of session %q", c.value)
	}
	entry, err := c.session(ctx, id)
	if err != nil {
		return err
	}
	if !uuid.MatchString(c.value) && entry.Name != c.value {
		return residue.Errorf(residue.Lost, residue.Changed, "session %q has the name %q", id, entry.Name)
	}
	return c.destroy(ctx, id)
}

func (c *sessionCleaner) destroy(ctx context.Context, id string) error {
	limit, cancel := limited(ctx)
	defer cancel()
	_, err := c.client.Session().Destroy(id, writing(limit))
	if err == nil {
		return nil
	}
	err = c.failed(limit, err)
	if hasStatus(err, 500) { // how some versions say that they do not know it
		if _, again := c.session(ctx, id); residue.IsGone(again) {
			return again
		}
	}
	return err
}

// Prove records the id of the one session that has the name. None yet, or
// several, are an intent: the name finds them later.
func (c *sessionCleaner) Prove(ctx context.Context) (residue.Residue, error) {
	return c.prove(ctx, c.Find)
}
