package consul

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/consul/api"

	"job-cleanup/pkg/residue"
)

// semaphoreCleaner gives up one place in a semaphore of Consul's library: the
// holders stand in one key, and every holder and waiter has a key of its own
// beside it.
type semaphoreCleaner struct {
	*site
	prefix string // without a slash at its end
}

var (
	_ residue.Prover     = (*semaphoreCleaner)(nil)
	_ residue.Endpointer = (*semaphoreCleaner)(nil)
)

func (s *site) semaphore(prefix string) (residue.Cleaner, error) {
	if err := checkKey(prefix); err != nil {
		return nil, err
	}
	return &semaphoreCleaner{site: s, prefix: strings.TrimSuffix(prefix, "/")}, s.checkSession()
}

// holders is what stands in the key of the holders; fields that we do not know
// are kept.
type holders struct {
	fields map[string]json.RawMessage
	ids    map[string]bool
}

func parseHolders(text []byte) (holders, error) {
	h := holders{}
	err := json.Unmarshal(text, &h.fields)
	if err == nil {
		err = json.Unmarshal(h.fields["Holders"], &h.ids)
	}
	if err != nil {
		return h, residue.Errorf(residue.Retry, residue.Changed, "the semaphore's holders can't be read: %w", err)
	}
	return h, nil
}

// without is the text with one holder less.
func (h holders) without(id string) ([]byte, error) {
	ids, fields := maps.Clone(h.ids), maps.Clone(h.fields)
	delete(ids, id)
	text, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	fields["Holders"] = text
	return json.Marshal(fields)
}

// places is a semaphore as it was read.
type places struct {
	lock    *api.KVPair            // the holders' key, nil when there is none
	holders holders                // of lock
	entries map[string]*api.KVPair // the keys of holders and waiters, by session
}

func (c *semaphoreCleaner) look(ctx context.Context) (places, error) {
	p := places{entries: map[string]*api.KVPair{}}
	pairs, err := c.list(ctx, c.prefix+"/")
	if err != nil {
		return p, err
	}
	for _, pair := range pairs {
		name := strings.TrimPrefix(pair.Key, c.prefix+"/")
		switch {
		case pair.Flags != api.SemaphoreFlagValue: // not of a semaphore
		case name == api.DefaultSemaphoreKey:
			p.lock = pair
			if p.holders, err = parseHolders(pair.Value); err != nil {
				return p, err
			}
		case name == pair.Session:
			p.entries[name] = pair
		}
	}
	return p, nil
}

// sessions lists holders and waiters.
func (p places) sessions() []string {
	all := slices.Concat(slices.Collect(maps.Keys(p.holders.ids)), slices.Collect(maps.Keys(p.entries)))
	slices.Sort(all)
	return slices.Compact(all)
}

// Find returns the places of our sessions.
func (c *semaphoreCleaner) Find(ctx context.Context) ([]residue.Residue, error) {
	p, err := c.look(ctx)
	if err != nil {
		return nil, err
	}
	var found []residue.Residue
	for _, session := range p.sessions() {
		ours := false
		if uuid.MatchString(session) {
			ours, err = c.ours(ctx, session)
		}
		if err != nil {
			return found, err
		}
		if ours {
			found = append(found, c.residue("semaphore", c.prefix, session))
		}
	}
	return found, nil
}

// Remove takes the recorded session out of the holders, by check-and-set, and
// removes its key as the session's end would.
func (c *semaphoreCleaner) Remove(ctx context.Context, r residue.Residue) error {
	session := r.Proof["session"]
	if session == "" {
		return residue.Errorf(residue.Refused, residue.Changed, "nobody recorded whose place in %q it is", c.prefix)
	}
	for range tries {
		p, err := c.look(ctx)
		if err != nil {
			return err
		}
		ops, err := p.leave(session)
		if err != nil {
			return err
		}
		if len(ops) == 0 {
			return residue.ErrGone
		}
		if done, err := c.change(ctx, ops...); done || err != nil {
			return err
		}
	}
	return residue.Errorf(residue.Retry, residue.StillWritten, "semaphore %q is written all the time", c.prefix)
}

// leave are the changes that give up a session's place, none if it has none.
func (p places) leave(session string) ([]*api.KVTxnOp, error) {
	var ops []*api.KVTxnOp
	if p.lock != nil && p.holders.ids[session] {
		text, err := p.holders.without(session)
		if err != nil {
			return nil, err
		}
		ops = append(ops, &api.KVTxnOp{Verb: api.KVCAS, Key: p.lock.Key, Value: text, Flags: p.lock.Flags, Index: p.lock.ModifyIndex})
	}
	if entry := p.entries[session]; entry != nil {
		ops = append(ops, &api.KVTxnOp{Verb: api.KVCheckSession, Key: entry.Key, Session: session},
			&api.KVTxnOp{Verb: api.KVDeleteCAS, Key: entry.Key, Index: entry.ModifyIndex})
	}
	return ops, nil
}

// Prove records the session that has the place, where it was not named.
func (c *semaphoreCleaner) Prove(ctx context.Context) (residue.Residue, error) {
	return c.prove(ctx, c.Find)
}
