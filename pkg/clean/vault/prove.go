package vault

import (
	"context"

	"job-cleanup/pkg/residue"
)

// Prepare records what the job's token is, while it surely works. A token with
// a limited number of uses loses one by it.
func (c *tokenCleaner) Prepare(ctx context.Context) (map[string]string, error) {
	if c.self == nil || c.named != "" {
		return nil, nil
	}
	s, err := c.look(ctx, "")
	if err != nil {
		return nil, err
	}
	return s.facts(), nil
}

// Prove records what the token is. A token that can't be looked up now is
// recorded all the same, by its accessor alone.
func (c *tokenCleaner) Prove(ctx context.Context) (residue.Residue, error) {
	r := *c.spec.Tracked
	s, err := c.look(ctx, c.named)
	if err != nil {
		return r, nil
	}
	if err := c.mayGo(s.info); err != nil {
		return r, err
	}
	r.Proof, r.Expires = s.proof(), s.expires
	if !s.isSelf {
		delete(r.Proof, "accessor") // it stands for "the token of --token is this one"
	}
	r.Identify()
	return r, nil
}
