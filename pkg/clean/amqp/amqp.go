// Package amqp removes what a job left in RabbitMQ, or another server that
// speaks AMQP 0-9-1: queues, their messages, and exchanges, by exact name.
package amqp

import (
	"context"
	"errors"
	"strings"

	"job-cleanup/pkg/residue"
)

// Kind is the code for residue in a message broker.
var Kind = &residue.Kind{
	Name: "amqp",
	Doc:  "Queues and exchanges of RabbitMQ, by exact name in one virtual host.",
	Selectors: []residue.Selector{
		{Key: "PurgeQueue", Type: "messages", Value: residue.Name, Phase: residue.Data, ByName: true,
			Doc: "A queue that stays and is emptied.", Example: "results.%i"},
		{Key: "DeleteQueue", Type: "queue", Value: residue.Name, Phase: residue.Data, ByName: true,
			Doc: "A queue with its messages.", Example: "work.%i"},
		{Key: "DeleteExchange", Type: "exchange", Value: residue.Name, Phase: residue.Data, ByName: true, Rank: 1,
			Doc: "An exchange to which nothing is bound any more.", Example: "work.%i"},
	},
	Options: []residue.Option{
		{Key: "Address", Value: residue.String, Default: "amqp://127.0.0.1",
			Doc: "`amqp://HOST:PORT/VHOST`, or `amqps:`, without a password. `/`, `%` and `#` in the virtual host's name are escaped as in every URL, and a `%` stands twice in a plan.", Example: "amqps://mq.example/batch"},
		{Key: "Vhost", Value: residue.String, Doc: "The virtual host, unescaped, where the address names none. Without either: `/`.", Example: "team/batch"},
		{Key: "Username", Value: residue.String, Doc: "The user to log in as. Without one: that of the address, else `guest`.", Example: "batch"},
		{Key: "Password", Value: residue.SecretRef, Doc: "Its password.", Example: "credential:mq"},
		{Key: "CACert", Value: residue.Path, Doc: "The certificates to verify the server with. Without it: the system's.", Example: "/etc/batch/ca.pem"},
		{Key: "Force", Value: residue.Bool, Default: "no", Doc: "Also what somebody uses: a queue with consumers, an exchange with bindings.", Example: "yes"},
	},
	Open: open,
}

// target is one selector's work on one name.
type target interface {
	// look reports whether there is something to remove, and whether somebody
	// uses it.
	look(*session) (there, used bool, err error)

	// remove removes it. With ifUnused the server is asked not to touch what
	// somebody uses.
	remove(s *session, ifUnused bool) error
}

type cleaner struct {
	spec   residue.Spec
	server server
	target target
	force  bool
}

var _ residue.Endpointer = (*cleaner)(nil)

func open(spec residue.Spec, deps residue.Deps) (residue.Cleaner, error) {
	if spec.Tracked != nil {
		spec.Value = spec.Tracked.Ref
	}
	if err := checkName(spec.Value); err != nil {
		return nil, err
	}
	t, err := newTarget(spec)
	if err != nil {
		return nil, err
	}
	srv, err := newServer(spec, deps)
	if err != nil {
		return nil, err
	}
	return &cleaner{spec: spec, server: srv, target: t, force: spec.Option("Force") == "yes"}, nil
}

func newTarget(spec residue.Spec) (target, error) {
	switch spec.Selector {
	case "PurgeQueue":
		return messages{spec.Value}, nil
	case "DeleteQueue":
		return queue{spec.Value}, nil
	case "DeleteExchange":
		return exchange{spec.Value}, nil
	}
	return nil, refused("amqp has no selector %q", spec.Selector)
}

// maxName is the longest name of the protocol, in bytes.
const maxName = 255

// checkName refuses names that are never a job's. An empty one would mean the
// default exchange, or whichever queue was declared last.
func checkName(name string) error {
	switch {
	case name == "", strings.HasPrefix(name, "amq."):
		return residue.Errorf(residue.Refused, residue.Protected, "%q is a name of the server's own", name)
	case len(name) > maxName:
		return refused("name %q is longer than %d bytes", name[:maxName], maxName)
	}
	return nil
}

// Endpoint is the server's address.
func (c *cleaner) Endpoint() string { return c.server.endpoint() }

// Find declares the name passively, which changes nothing.
func (c *cleaner) Find(ctx context.Context) ([]residue.Residue, error) {
	there := false
	err := c.server.session(ctx, func(s *session) error {
		var err error
		there, _, err = c.target.look(s)
		return err
	})
	if err != nil || !there {
		return nil, err
	}
	sel, _ := Kind.Selector(c.spec.Selector)
	r := residue.Residue{Type: sel.Type, Ref: c.spec.Value, Proof: map[string]string{"vhost": c.server.vhost}}
	r.Identify()
	return []residue.Residue{r}, nil
}

// Remove removes what is still there and nobody uses.
func (c *cleaner) Remove(ctx context.Context, r residue.Residue) error {
	if vhost, ok := r.Proof["vhost"]; ok && vhost != c.server.vhost {
		return residue.Errorf(residue.Lost, residue.Changed, "%q was seen in another virtual host, %q", r.Ref, vhost)
	}
	err := c.remove(ctx, !c.force)
	if errors.Is(err, errNoCondition) {
		err = c.remove(ctx, false) // then the look right before has to do
	}
	return err
}

func (c *cleaner) remove(ctx context.Context, ifUnused bool) error {
	return c.server.session(ctx, func(s *session) error {
		there, used, err := c.target.look(s)
		switch {
		case err != nil:
			return err
		case !there:
			return residue.ErrGone
		case used && !c.force:
			return inUse(c.spec.Value)
		}
		return c.target.remove(s, ifUnused)
	})
}

func inUse(name string) error {
	return residue.Errorf(residue.Retry, residue.InUse, "%q has consumers", name)
}
