package vault

import (
	"context"
	"sync"

	"job-cleanup/pkg/residue"
)

// rootPath is what the first token of a server was made by. It is nobody's
// residue.
const rootPath = "auth/token/root"

// tokenCleaner revokes one token.
type tokenCleaner struct {
	*access
	self       *door  // as the token itself, nil when only its accessor is known
	lost       error  // why self is nil although Token= is set
	by         *door  // as somebody who may revoke accessors, nil for nobody
	byIdentity bool   // by goes first
	named      string // the accessor that plan or job named, "" for what Token= is
	sure       bool   // self is certainly the token that is meant

	mu   sync.Mutex
	seen *sight
}

// sight is a successful look: what the token is, and whether self is it.
type sight struct {
	info
	isSelf bool
}

var (
	_ residue.Preparer   = (*tokenCleaner)(nil)
	_ residue.Prover     = (*tokenCleaner)(nil)
	_ residue.Endpointer = (*tokenCleaner)(nil)
)

// Find looks the token up. One that nobody may look up counts as there.
func (c *tokenCleaner) Find(ctx context.Context) ([]residue.Residue, error) {
	known := c.recorded()
	if known.kind == batch && !known.expires.IsZero() {
		return c.found(known), nil // nothing to ask for: it can't be revoked
	}
	i, err := c.look(ctx, known.accessor)
	switch {
	case residue.IsGone(err), err != nil && known.over(c.now()):
		return nil, nil
	case forbidden(err):
		return c.found(known), nil
	case err != nil:
		return nil, err
	}
	if err := c.mayGo(i.info); err != nil {
		return nil, err
	}
	return c.found(i.info), nil
}

// recorded is what was known before: told by plan, job, or an earlier look.
func (c *tokenCleaner) recorded() info {
	if t := c.spec.Tracked; t != nil {
		i := factsOf(t.Proof)
		i.expires = t.Expires
		if c.named != "" {
			i.accessor = c.named
		}
		return i
	}
	i := factsOf(c.spec.Facts)
	if c.named != "" {
		i.accessor = c.named
	}
	return i
}

// found is the residue of a token.
func (c *tokenCleaner) found(i info) []residue.Residue {
	r := residue.Residue{Type: "token", Ref: i.accessor, Expires: i.expires}
	if c.spec.Tracked != nil {
		r = *c.spec.Tracked
		r.Expires = i.expires
		return []residue.Residue{r}
	}
	if r.Ref == "" {
		r.Ref = "token of " + c.Endpoint()
	}
	if i.kind != "" {
		r.Proof = i.proof()
	} else if i.accessor != "" {
		r.Proof = map[string]string{"accessor": i.accessor}
	}
	if namespace := c.spec.Option("Namespace"); namespace != "" && r.Proof != nil {
		r.Proof["namespace"] = namespace
	}
	r.Identify()
	return []residue.Residue{r}
}

// mayGo refuses tokens that are no job's.
func (c *tokenCleaner) mayGo(i info) error {
	if i.path == rootPath {
		return residue.Errorf(residue.Refused, residue.Protected, "%q is a root token of the server, not a job's", i.accessor)
	}
	end := c.deps.Job.End
	if c.named == "" && !end.IsZero() && i.created.After(end.Add(clockLag)) {
		return residue.Errorf(residue.Lost, residue.Changed, "token %q was made after the job had ended", i.accessor)
	}
	return nil
}

// known is look, or what an earlier look of this process saw: which token a
// door is does not change, and whether it is still there the removal says.
func (c *tokenCleaner) known(ctx context.Context, accessor string) (sight, error) {
	c.mu.Lock()
	seen := c.seen
	c.mu.Unlock()
	if seen != nil && (accessor == "" || seen.accessor == accessor) {
		return *seen, nil
	}
	return c.look(ctx, accessor)
}

// look finds the token with that accessor, or the one that Token= is when the
// accessor is "". The error is of class Gone only if the token is.
func (c *tokenCleaner) look(ctx context.Context, accessor string) (sight, error) {
	s, err := c.lookBySelf(ctx, accessor)
	if err == nil {
		c.mu.Lock()
		c.seen = &s
		c.mu.Unlock()
	}
	return s, err
}

func (c *tokenCleaner) lookBySelf(ctx context.Context, accessor string) (sight, error) {
	if c.self == nil {
		return c.lookByAccessor(ctx, accessor)
	}
	i, err := c.self.lookSelf(ctx)
	switch {
	case err == nil && (accessor == "" || i.accessor == accessor):
		return sight{i, true}, nil
	case err == nil: // the reference leads to another token by now
		return c.lookByAccessor(ctx, accessor)
	case residue.IsGone(err) && !c.isSelf(accessor):
		return sight{}, residue.Errorf(residue.Retry, residue.Permission, "the token that should tell of accessor %q is not valid", accessor)
	case forbidden(err) && accessor == "" && c.by != nil:
		i, err = c.by.lookToken(ctx, c.self)
		return sight{i, true}, err
	case forbidden(err) && c.by != nil:
		return c.lookByAccessor(ctx, accessor)
	}
	return sight{}, err
}

// isSelf reports whether self is known to be the token of the accessor, so that
// the end of the one is the end of the other.
func (c *tokenCleaner) isSelf(accessor string) bool {
	t := c.spec.Tracked
	return c.sure || t != nil && t.Proof["accessor"] == accessor
}

func (c *tokenCleaner) lookByAccessor(ctx context.Context, accessor string) (sight, error) {
	switch {
	case c.by != nil && accessor != "":
		i, err := c.by.lookAccessor(ctx, accessor)
		return sight{i, false}, err
	case c.lost != nil:
		return sight{}, c.lost
	}
	return sight{}, residue.Errorf(residue.Retry, residue.NoCredentials,
		"Token= leads to another token than that of accessor %q, and there is no Identity= to revoke it with", accessor)
}
