// Package unit is the kind of residue that consists of helper and transient
// units: servers that a job started beside itself and did not stop.
//
// It stops only units whose names carry the job's identity, never the job's
// own unit, its siblings or the machine's, and only the very invocation that
// was found.
package unit

import (
	"context"
	"os"
	"path/filepath"
	"strconv"

	"job-cleanup/pkg/manager"
	"job-cleanup/pkg/residue"
)

// Kind stops units and resets failed ones, over D-Bus.
var Kind = newKind(address)

// The residue types.
const (
	typeRunning = "unit"
	typeFailed  = "failed"
)

func newKind(address func(residue.Deps) manager.Address) *residue.Kind {
	return &residue.Kind{
		Name:  "unit",
		Local: true,
		Doc:   "Helper and transient units of the job, named after it.",
		Selectors: []residue.Selector{{
			Key: "Stop", Type: typeRunning, Value: residue.UnitName, Phase: residue.Processes, Rank: 0, NoTrack: true, Done: "stopped",
			Doc: "A unit to stop. Its name must hold the job's instance, or the unit's name without type where it has no instance, or the invocation id, set off by punctuation. " +
				"A pattern selects transient units only, and only those that began while the job ran.",
			Example: "helper-%i.service",
		}, {
			Key: "ResetFailed", Type: typeFailed, Value: residue.UnitName, Phase: residue.Processes, Rank: 1, NoTrack: true, Done: "reset",
			Doc:     "A failed unit to forget, as `systemctl reset-failed` does. The same names as for Stop=.",
			Example: "helper-%i.service",
		}},
		Open: func(spec residue.Spec, deps residue.Deps) (residue.Cleaner, error) {
			return open(spec, deps, address(deps))
		},
	}
}

// address is where the job's own manager is reached.
func address(deps residue.Deps) manager.Address {
	if !deps.Job.UserBus {
		return manager.System()
	}
	uid := uint64(os.Geteuid())
	if deps.Job.User != nil {
		uid = uint64(deps.Job.User.UID)
	}
	dir := filepath.Join("/run/user", strconv.FormatUint(uid, 10))
	// A user's own hook may have it elsewhere. To root it would be the job's
	// word for where to connect to.
	if deps.Env != nil && os.Geteuid() != 0 {
		if own, ok := deps.Env("XDG_RUNTIME_DIR"); ok && filepath.IsAbs(own) {
			dir = own
		}
	}
	return manager.User(dir)
}

// cleaner cleans the units of one spec. It connects for each call: a bus is
// near, and nobody would close a connection that it kept.
type cleaner struct {
	address manager.Address
	job     residue.Job
	names   names
	want    selection
	failed  bool // looks for failed units, not for running ones
}

var (
	_ residue.Cleaner    = (*cleaner)(nil)
	_ residue.Endpointer = (*cleaner)(nil)
)

// selection is what a spec selects: a name, or a pattern.
type selection struct {
	pattern    string // "" for a name
	name       string
	invocation string // of tracked residue; "" for any
}

func open(spec residue.Spec, deps residue.Deps, at manager.Address) (residue.Cleaner, error) {
	c := &cleaner{address: at, job: deps.Job, names: namesOf(deps.Job), failed: spec.Selector == "ResetFailed"}
	switch {
	case spec.Tracked != nil:
		c.want = selection{name: spec.Tracked.Ref, invocation: spec.Tracked.Proof[proofInvocation]}
	case isPattern(spec.Value):
		c.want = selection{pattern: spec.Value}
		return c, c.refusal(c.names.checkPattern(spec.Value))
	default:
		c.want = selection{name: spec.Value}
	}
	return c, c.refusal(c.names.check(c.want.name))
}

func (*cleaner) refusal(err error) error {
	if err == nil {
		return nil
	}
	return &residue.Error{Class: residue.Refused, Reason: residue.Protected, Err: err}
}

// Endpoint names the bus.
func (c *cleaner) Endpoint() string { return c.address.Bus }

// connected runs do with a connection.
func (c *cleaner) connected(ctx context.Context, do func(*manager.Conn) error) error {
	conn, err := manager.Dial(ctx, c.address)
	if err != nil {
		return err
	}
	defer conn.Close()
	return do(conn)
}
