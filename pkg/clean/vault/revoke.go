package vault

import (
	"context"
	"net/http"
	"time"

	"job-cleanup/pkg/residue"
)

// Remove revokes the token, if it is the recorded one.
func (c *tokenCleaner) Remove(ctx context.Context, r residue.Residue) error {
	if err := ended(ctx); err != nil {
		return err
	}
	told := c.of(r)
	switch {
	case told.kind == batch:
		return c.until(told.expires)
	case told.over(c.now()):
		return residue.ErrGone
	}
	s, err := c.known(ctx, told.accessor)
	switch {
	case forbidden(err):
		err = c.revokeUnseen(ctx, told.accessor, err)
	case err != nil:
		return err
	case s.kind == batch:
		return c.until(s.expires)
	default:
		if err := c.mayGo(s.info); err != nil {
			return err
		}
		err = c.revoke(ctx, s)
	}
	if says(err, http.StatusBadRequest, batchToken) {
		return c.until(told.expires)
	}
	return err
}

// of is what a record tells of its token.
func (c *tokenCleaner) of(r residue.Residue) info {
	i := factsOf(r.Proof)
	i.expires = r.Expires
	if i.accessor == "" {
		i.accessor = c.recorded().accessor
	}
	return i
}

// revoke takes the way that the plan prefers, and the other one if a policy
// bars it.
func (c *tokenCleaner) revoke(ctx context.Context, s sight) error {
	if s.isSelf && (c.by == nil || !c.byIdentity) {
		err := c.self.revokeSelf(ctx)
		if !forbidden(err) || c.by == nil || c.by == c.self {
			return err
		}
	}
	return c.by.revokeAccessor(ctx, s.accessor)
}

// revokeUnseen revokes what nobody may look up: by its accessor, or, if none
// was ever known, what Token= leads to.
func (c *tokenCleaner) revokeUnseen(ctx context.Context, accessor string, why error) error {
	switch {
	case c.by != nil && accessor != "":
		return c.by.revokeAccessor(ctx, accessor)
	case c.self != nil && accessor == "":
		return c.self.revokeSelf(ctx)
	}
	return why
}

// until is the answer for a batch token.
func (c *tokenCleaner) until(expires time.Time) error {
	switch {
	case expires.IsZero():
		return residue.Errorf(residue.Retry, residue.Other, "a batch token can't be revoked, and nobody knows when it expires")
	case c.now().After(expires):
		return residue.ErrGone
	}
	e := residue.Errorf(residue.Until, residue.Other, "a batch token can't be revoked; it ends at %s", expires.UTC().Format(time.RFC3339))
	e.Until = expires
	return e
}
