// Package redis removes what a job left in a Redis server: keys below a prefix
// of its own, and locks that still hold its value.
package redis

import (
	"context"
	"strings"
	"unicode"

	"job-cleanup/pkg/residue"
)

// Kind is the code for residue in a Redis server.
var Kind = &residue.Kind{
	Name: "redis",
	Doc:  "Keys below a prefix, and locks, in a Redis server. Not in a cluster, and not on a replica.",
	Selectors: []residue.Selector{
		{Key: "DeleteKeys", Type: "keys", Value: residue.Prefix, Phase: residue.Data, ByName: true,
			Doc: "All keys whose name begins so, wildcards meaning nothing.", Example: "jobs:%i:"},
		{Key: "ReleaseLock", Type: "lock", Value: residue.String, Phase: residue.Locks, ByName: true,
			Doc: "A key that is deleted only if its value is this job's: that of `Value=` or `Token=`.", Example: "locks/deploy"},
	},
	Options: []residue.Option{
		{Key: "Address", Value: residue.String, Default: "127.0.0.1:6379", Doc: "HOST:PORT, or the path of a socket.", Example: "cache.example:6380"},
		{Key: "Username", Value: residue.String, Doc: "The user to log in as. Without one: the server's default user.", Example: "batch"},
		{Key: "Password", Value: residue.SecretRef, Env: "REDISCLI_AUTH", Doc: "Its password.", Example: "credential:redis"},
		{Key: "DB", Value: residue.Number, Default: "0", Doc: "The database's number.", Example: "3"},
		{Key: "TLS", Value: residue.Bool, Default: "no", Doc: "Speak TLS, and verify the server.", Example: "yes"},
		{Key: "CACert", Value: residue.Path, Doc: "The certificates to verify the server with, and TLS. Without it: the system's.", Example: "/etc/batch/ca.pem"},
		{Key: "Value", Value: residue.Name, Doc: "Of `ReleaseLock=`: what the job wrote into the key. It is recorded as it stands.", Example: "%n-%i"},
		{Key: "Token", Value: residue.SecretRef, Identifies: true, Doc: "Of `ReleaseLock=`: where a value stands that is to be recorded nowhere.", Example: "file:%t/batch/lock-token"},
	},
	Open: open,
}

// target is one selector's work.
type target interface {
	// look reports whether there is something of ours.
	look(context.Context, *session) (bool, error)

	// remove removes it, or answers with ErrGone or an error of class Lost.
	remove(context.Context, *session) error
}

type cleaner struct {
	spec   residue.Spec
	server server
	target target
}

var _ residue.Endpointer = (*cleaner)(nil)

func open(spec residue.Spec, deps residue.Deps) (residue.Cleaner, error) {
	if spec.Tracked != nil {
		spec.Value = spec.Tracked.Ref
	}
	t, err := newTarget(spec, deps)
	if err != nil {
		return nil, err
	}
	srv, err := newServer(spec, deps)
	if err != nil {
		return nil, err
	}
	if l, ok := t.(lock); ok {
		srv.hide = append(srv.hide, l.value)
	}
	return &cleaner{spec: spec, server: srv, target: t}, nil
}

func newTarget(spec residue.Spec, deps residue.Deps) (target, error) {
	switch spec.Selector {
	case "DeleteKeys":
		return keys{spec.Value}, checkPrefix(spec.Value)
	case "ReleaseLock":
		return newLock(spec, deps)
	}
	return nil, refused("redis has no selector %q", spec.Selector)
}

// delimiters end a prefix.
const delimiters = "/-_.:"

// checkPrefix refuses what would select more than one job's keys. Whether the
// job's identity stands in it, only the plan can tell.
func checkPrefix(prefix string) error {
	switch {
	case prefix == "" || strings.IndexByte(delimiters, prefix[len(prefix)-1]) < 0:
		return refused("prefix %q does not end in one of %s", prefix, delimiters)
	case strings.IndexFunc(prefix, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }) < 0:
		return refused("prefix %q is nothing but punctuation", prefix)
	}
	return nil
}

// Endpoint is the server's address.
func (c *cleaner) Endpoint() string { return "redis://" + c.server.options.Addr }

// Find looks for one key that is ours.
func (c *cleaner) Find(ctx context.Context) ([]residue.Residue, error) {
	there := false
	err := c.server.session(ctx, func(s *session) error {
		var err error
		there, err = c.target.look(ctx, s)
		return err
	})
	if err != nil || !there {
		return nil, err
	}
	sel, _ := Kind.Selector(c.spec.Selector)
	r := residue.Residue{Type: sel.Type, Ref: c.spec.Value, Proof: c.server.proof()}
	r.Identify()
	return []residue.Residue{r}, nil
}

// Remove deletes what Find saw.
func (c *cleaner) Remove(ctx context.Context, _ residue.Residue) error {
	return c.server.session(ctx, func(s *session) error { return c.target.remove(ctx, s) })
}
