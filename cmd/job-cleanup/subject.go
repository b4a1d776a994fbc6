package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/manager"
	"job-cleanup/pkg/outcome"
	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/unitfile"
)

// managerLimit bounds all questions to the service manager at the beginning:
// who does not answer by then must not keep a hook from its work.
const managerLimit = 3 * time.Second

// byHand is the unit of a job that belongs to none.
const byHand = "by-hand"

// subject is the job a command is about, and what is known of its unit.
type subject struct {
	job      ledger.Job
	identity outcome.Identity
	outcome  outcome.Outcome
	unit     *unitfile.Unit // nil when its files were not found
	live     *manager.Unit  // nil when the manager does not know it, or can't be asked
	inside   bool           // we stand in the unit's cgroup
	hook     bool           // we are the stop hook of the unit, or run below it
	later    bool           // of a pass over what jobs that are over still owe
	blind    bool           // we seem to be a stop hook that can't see its control group
	env      bool           // our environment is the job's own: that of its hook

	// elsewhere are specs that other ledgers of the unit owe, tried just now;
	// nil when there are no such ledgers.
	elsewhere map[string]bool
}

// subject finds out which job is meant and what can be known of it. With own
// set it can only be the job this process stands in.
func (s *site) subject(ctx context.Context, own bool) (*subject, error) {
	cgroup, _ := os.ReadFile("/proc/self/cgroup")
	flags := outcome.Flags{Unit: serviceName(s.opts.unit), Invocation: s.opts.invocation, Own: own}
	id, err := outcome.Identify(outcome.Caller{Env: s.env.lookup, PID: s.pid, Cgroup: string(cgroup)}, flags)
	if err != nil {
		return nil, wrongUnit(err)
	}
	how, err := s.endingTold(id)
	if err != nil {
		return nil, err
	}
	sub := &subject{identity: id, outcome: how}
	_, told := s.env["SERVICE_RESULT"]
	here := outcome.ParseCgroup(string(cgroup)).Unit
	sub.inside = id.Unit != "" && here == id.Unit
	sub.env = told && (sub.inside || here == "")
	sub.hook = told && sub.inside && !own // before a job there is no hook, whatever the environment says
	sub.blind = told && here == "" && id.Unit == "" && !own
	sub.job.UserBus = s.opts.user || s.opts.unit == "" && id.UserManager
	sub.job.CI = id.CI != "" && id.InvocationFrom == id.CI
	s.ask(ctx, sub)
	sub.name()
	sub.load(s)
	s.describe(sub)
	return sub, nil
}

// serviceName completes a unit name that a person typed without its suffix.
func serviceName(name string) string {
	if name == "" || strings.Contains(name, ".") {
		return name
	}
	return name + ".service"
}

// wrongUnit is the error of a unit name that is none.
func wrongUnit(err error) error {
	var bad *outcome.UnitNameError
	if errors.As(err, &bad) {
		return usagef(bad.Hint(), "%v", bad)
	}
	return err
}

// dial connects to the manager of the job's unit.
func (s *site) dial(ctx context.Context, user bool) (*manager.Conn, error) {
	address := manager.System()
	if user {
		address = manager.User(cmp.Or(s.env["XDG_RUNTIME_DIR"], "/run/user/"+strconv.Itoa(s.uid)))
	}
	return manager.Dial(ctx, address)
}

// ask fills in what the manager knows. No answer leaves live nil: everything
// works without a bus, from what the environment, arm and the files say.
func (s *site) ask(ctx context.Context, sub *subject) {
	id := &sub.identity
	if id.Unit == "" && id.Invocation == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, managerLimit)
	defer cancel()
	conn, err := s.dial(ctx, sub.job.UserBus)
	if err != nil {
		return
	}
	defer conn.Close()
	unit, err := sub.itself(ctx, conn)
	switch {
	case err == nil:
		sub.inside, sub.hook = true, true
	case id.Unit != "":
		unit, err = conn.Load(ctx, id.Unit)
	case !sub.job.CI:
		unit, err = conn.ByInvocation(ctx, id.Invocation)
	default:
		return
	}
	if err != nil || unit.LoadState == "not-found" {
		return
	}
	sub.live = &unit
	id.Unit = cmp.Or(id.Unit, unit.Name)
	// A job can write its own INVOCATION_ID, and a CI platform's variables, for
	// lines that have more rights than it; the manager knows better.
	foreign := s.uid == 0 && sub.inside && !unit.RunsAsRoot()
	if sub.hook && foreign && unit.Result != "" {
		sub.outcome.Result = unit.Result
	}
	lies := sub.hook || foreign
	if id.Invocation == "" || lies && unit.Invocation != "" && s.opts.invocation == "" {
		id.Invocation, id.InvocationFrom, sub.job.CI = unit.Invocation, "manager", false
	}
}

// itself asks the manager which unit we are in, if our control group does not
// tell, as with ProtectControlGroups=private. Our environment may name another
// unit's invocation.
func (sub *subject) itself(ctx context.Context, conn *manager.Conn) (manager.Unit, error) {
	if !sub.blind || sub.job.CI {
		return manager.Unit{}, manager.ErrNotLoaded
	}
	unit, err := conn.Self(ctx)
	if err == nil && (!strings.HasSuffix(unit.Name, ".service") || strings.HasPrefix(unit.Name, "user@")) {
		err = manager.ErrNotLoaded
	}
	return unit, err
}

// name gives the job its unit and invocation. Who has neither gets words of
// our own, so that what can't be removed can still be written down.
func (sub *subject) name() {
	id := sub.identity
	sub.job.Unit = cmp.Or(id.Unit, id.CI, byHand)
	sub.job.Invocation = cmp.Or(id.Invocation, randomID())
	if sub.ended() && sub.outcome.Result == outcome.Unknown {
		sub.outcome.Result = sub.live.Result
	}
	sub.job.Outcome = sub.outcome
	switch {
	case sub.job.CI, id.Unit == "":
		sub.job.Witness = ledger.ByRun
	default:
		sub.job.Witness = ledger.ByManager
	}
}

// byHand reports whether a person named the unit: neither the unit itself nor its
// failure handler is at work, nor one job of a CI runner.
func (sub *subject) byHand() bool {
	return sub.identity.Unit != "" && !sub.inside && !sub.job.CI && !sub.handler()
}

// handler reports whether we are the unit that the manager starts when the
// job's has failed.
func (sub *subject) handler() bool {
	return sub.identity.UnitFrom == "MONITOR_UNIT" || sub.identity.InvocationFrom == "MONITOR_INVOCATION_ID"
}

// ended reports whether the manager still knows the end of this very job. It
// forgets that of a success.
func (sub *subject) ended() bool {
	return sub.byHand() && sub.live != nil && sub.live.Invocation != "" &&
		sub.live.Invocation == sub.identity.Invocation && sub.live.Life().State == manager.Over
}

func randomID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// load reads the unit's files: where the manager says they are, else where it
// would look for them.
func (sub *subject) load(s *site) {
	name := sub.identity.Unit
	if name == "" {
		return
	}
	if sub.live != nil && sub.live.Fragment != "" {
		if unit, err := unitfile.LoadFrom(name, sub.live.Fragment, sub.live.DropIns); err == nil {
			sub.unit = unit
			return
		}
	}
	if unit, err := unitfile.Load(name, s.search(sub.job.UserBus)); err == nil {
		sub.unit = unit
	}
}

// search is where a manager looks for units.
func (s *site) search(user bool) unitfile.Search {
	if !user {
		return unitfile.SystemSearch()
	}
	home := s.env["HOME"]
	return unitfile.UserSearch(
		cmp.Or(s.env["XDG_CONFIG_HOME"], filepath.Join(home, ".config")),
		cmp.Or(s.env["XDG_DATA_HOME"], filepath.Join(home, ".local/share")),
		cmp.Or(s.env["XDG_RUNTIME_DIR"], "/run/user/"+strconv.Itoa(s.uid)))
}

// active reports whether the unit runs now and we are not its own hook.
func (sub *subject) active() bool {
	if sub.live == nil || sub.hook {
		return false
	}
	return sub.live.Life().State == manager.Alive
}

// otherInvocation reports whether the unit lives in another invocation than
// the one to be cleaned: what patterns name is that one's now.
func (sub *subject) otherInvocation() bool {
	return sub.active() && sub.live.Invocation != sub.job.Invocation && !sub.job.CI
}

// callerIdentity is the user this process runs as.
func (s *site) callerIdentity() *residue.Identity {
	return &residue.Identity{UID: uint32(s.uid), GID: uint32(s.gid), Name: s.env["USER"], Home: s.env["HOME"]}
}
