package consul

import (
	"context"

	"github.com/hashicorp/consul/api"

	"job-cleanup/pkg/residue"
)

// tries is how often a change is made anew when somebody else was quicker.
const tries = 3

// lockCleaner releases one lock.
type lockCleaner struct {
	*site
	key string
}

var (
	_ residue.Prover     = (*lockCleaner)(nil)
	_ residue.Endpointer = (*lockCleaner)(nil)
)

func (s *site) lock(key string) (residue.Cleaner, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	return &lockCleaner{site: s, key: key}, s.checkSession()
}

// Find returns the lock while a session of ours holds it.
func (c *lockCleaner) Find(ctx context.Context) ([]residue.Residue, error) {
	pair, err := c.get(ctx, c.key)
	if err != nil || pair == nil || pair.Session == "" {
		return nil, err
	}
	ours, err := c.ours(ctx, pair.Session)
	switch {
	case err != nil:
		return nil, err
	case ours:
		return []residue.Residue{c.residue("lock", c.key, pair.Session)}, nil
	case c.recorded() != "":
		return nil, residue.Errorf(residue.Lost, residue.Changed, "lock %q is held by session %q", c.key, pair.Session)
	}
	return nil, nil // by name there may never have been one of ours
}

// ours reports whether a session that holds something is the job's.
func (s *site) ours(ctx context.Context, session string) (bool, error) {
	if id := s.recorded(); id != "" {
		return session == id, nil
	}
	entry, err := s.session(ctx, session)
	if residue.IsGone(err) {
		return false, nil // it ended since; so did what it held
	}
	if err != nil {
		return false, err
	}
	return entry.Name == s.spec.Option("SessionName"), nil
}

// Remove releases the lock if the recorded session still holds it.
func (c *lockCleaner) Remove(ctx context.Context, r residue.Residue) error {
	session := r.Proof["session"]
	if session == "" {
		return residue.Errorf(residue.Refused, residue.Changed, "nobody recorded whose lock %q is", c.key)
	}
	for range tries {
		pair, err := c.get(ctx, c.key)
		switch {
		case err != nil:
			return err
		case pair == nil || pair.Session == "":
			return residue.ErrGone
		case pair.Session != session:
			return residue.Errorf(residue.Lost, residue.Changed, "lock %q is held by session %q", c.key, pair.Session)
		}
		ops, err := c.release(ctx, pair)
		if err != nil {
			return err
		}
		if done, err := c.change(ctx, ops...); done || err != nil {
			return err
		}
	}
	return residue.Errorf(residue.Retry, residue.StillWritten, "lock %q is written all the time", c.key)
}

// release are the changes that open a lock. They fail together if the key is
// not as it was read. What a session would delete at its end goes with it.
func (s *site) release(ctx context.Context, pair *api.KVPair) ([]*api.KVTxnOp, error) {
	held := &api.KVTxnOp{Verb: api.KVCheckSession, Key: pair.Key, Session: pair.Session}
	entry, err := s.session(ctx, pair.Session)
	if err != nil && !residue.IsGone(err) && residue.AsError(err).Reason != residue.Permission {
		return nil, err
	}
	if err == nil && entry.Behavior == api.SessionBehaviorDelete {
		return []*api.KVTxnOp{held, {Verb: api.KVDeleteCAS, Key: pair.Key, Index: pair.ModifyIndex}}, nil
	}
	return []*api.KVTxnOp{
		{Verb: api.KVCheckIndex, Key: pair.Key, Index: pair.ModifyIndex}, held,
		{Verb: api.KVUnlock, Key: pair.Key, Session: pair.Session, Value: pair.Value, Flags: pair.Flags},
	}, nil
}

// Prove records the session that holds the lock now, where it was not named.
// A lock that nobody of ours holds yet is an intent.
func (c *lockCleaner) Prove(ctx context.Context) (residue.Residue, error) {
	return c.prove(ctx, c.Find)
}
