package consul

import (
	"context"
	"strings"

	"github.com/hashicorp/consul/api"

	"job-cleanup/pkg/residue"
)

const (
	delimiters = "/-_.:" // that a prefix may end in
	batchSize  = 64      // changes in one transaction; the server takes no more
)

// keysCleaner deletes the keys below a prefix.
type keysCleaner struct {
	*site
	prefix string
}

var _ residue.Endpointer = (*keysCleaner)(nil)

// keys checks a prefix. That a plan's carries the job's identity was checked
// with the plan; what a job tracks has at least two parts.
func (s *site) keys(prefix string) (residue.Cleaner, error) {
	if err := checkKey(prefix); err != nil {
		return nil, err
	}
	parts := strings.FieldsFunc(prefix, func(c rune) bool { return strings.ContainsRune(delimiters, c) })
	switch {
	case !strings.ContainsAny(prefix[len(prefix)-1:], delimiters):
		return nil, residue.Errorf(residue.Refused, residue.Other, "prefix %q has no delimiter at its end and selects more than one job's", prefix)
	case s.spec.Tracked != nil && len(parts) < 2:
		return nil, residue.Errorf(residue.Refused, residue.Other, "prefix %q is the same for every job", prefix)
	}
	return &keysCleaner{site: s, prefix: prefix}, nil
}

// Find returns the prefix while there are keys below it.
func (c *keysCleaner) Find(ctx context.Context) ([]residue.Residue, error) {
	pairs, err := c.list(ctx, c.prefix)
	if len(pairs) == 0 {
		return nil, err
	}
	return []residue.Residue{c.residue("keys", c.prefix, "")}, nil
}

// Remove deletes the keys as they were listed, and lists again until there are
// none but those that others hold.
func (c *keysCleaner) Remove(ctx context.Context, _ residue.Residue) error {
	for pass := range tries {
		pairs, err := c.list(ctx, c.prefix)
		if err != nil {
			return err
		}
		if len(pairs) == 0 && pass == 0 {
			return residue.ErrGone
		}
		free, held, err := c.divide(ctx, pairs)
		switch {
		case err != nil:
			return err
		case len(free) == 0 && held != nil:
			return residue.Errorf(residue.Retry, residue.InUse, "session %q holds %q", held.Session, held.Key)
		case len(free) == 0:
			return nil
		}
		if err := c.delete(ctx, free); err != nil {
			return err
		}
	}
	return residue.Errorf(residue.Retry, residue.StillWritten, "there are always new keys below %q", c.prefix)
}

// divide tells keys that may go from those that a session holds which is not
// the job's; it returns one of these.
func (c *keysCleaner) divide(ctx context.Context, pairs api.KVPairs) (free api.KVPairs, held *api.KVPair, err error) {
	ours := map[string]bool{"": true}
	for _, pair := range pairs {
		if _, known := ours[pair.Session]; !known && c.spec.Option("SessionName") != "" {
			if ours[pair.Session], err = c.ours(ctx, pair.Session); err != nil {
				return nil, nil, err
			}
		}
		if ours[pair.Session] {
			free = append(free, pair)
		} else {
			held = pair
		}
	}
	return free, held, nil
}

// delete deletes keys that are as they were listed. A batch with one that is
// not stays as a whole, and is listed again.
func (c *keysCleaner) delete(ctx context.Context, pairs api.KVPairs) error {
	for len(pairs) > 0 {
		n := min(len(pairs), batchSize)
		var ops []*api.KVTxnOp
		for _, pair := range pairs[:n] {
			ops = append(ops, &api.KVTxnOp{Verb: api.KVDeleteCAS, Key: pair.Key, Index: pair.ModifyIndex})
		}
		if _, err := c.change(ctx, ops...); err != nil {
			return err
		}
		pairs = pairs[n:]
	}
	return nil
}
