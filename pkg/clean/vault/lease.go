package vault

import (
	"context"

	"job-cleanup/pkg/residue"
)

// leaseCleaner revokes one lease.
type leaseCleaner struct {
	*access
	by *door
	id string
}

var _ residue.Endpointer = (*leaseCleaner)(nil)

// Find looks the lease up. One that may not be looked up counts as there.
func (c *leaseCleaner) Find(ctx context.Context) ([]residue.Residue, error) {
	i, err := c.by.lookLease(ctx, c.id)
	switch {
	case residue.IsGone(err):
		return nil, nil
	case err != nil && !forbidden(err):
		return nil, err
	}
	if t := c.spec.Tracked; t != nil {
		r := *t
		r.Expires = i.expires
		return []residue.Residue{r}, nil
	}
	r := residue.Residue{Type: "lease", Ref: c.id, Proof: map[string]string{"lease": c.id}, Expires: i.expires}
	if namespace := c.spec.Option("Namespace"); namespace != "" {
		r.Proof["namespace"] = namespace
	}
	r.Identify()
	return []residue.Residue{r}, nil
}

// Remove revokes the lease. It looks first: the server answers the same for a
// lease that it never gave.
func (c *leaseCleaner) Remove(ctx context.Context, _ residue.Residue) error {
	if err := ended(ctx); err != nil {
		return err
	}
	if _, err := c.by.lookLease(ctx, c.id); err != nil && !forbidden(err) {
		return err
	}
	return c.by.revokeLease(ctx, c.id)
}
