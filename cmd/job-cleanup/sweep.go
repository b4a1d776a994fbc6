package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"job-cleanup/pkg/clean/command"
	"job-cleanup/pkg/engine"
	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/manager"
	"job-cleanup/pkg/residue"
)

func sweepVerb() *verb {
	return &verb{
		name:  "sweep",
		short: "clean up what jobs that are over still owe",
		long: "Goes through the ledgers of jobs that are certainly over and removes what they still owe: " +
			"after a power cut, a hook that was cut off, a holder that lived too long. " +
			"A job that may still run is left alone.",
		options: func(fs *pflag.FlagSet, o *options) {
			fs.BoolVar(&o.json, "json", false, "print records as JSON lines")
			whichFolders(fs, o)
		},
		run: runSweep,
	}
}

func runSweep(ctx context.Context, p *program, o *options) (int, error) {
	s, err := p.site(o)
	if err != nil {
		return 0, err
	}
	defer s.close()
	ctx, drain, stop := s.stoppable(ctx)
	defer stop()
	probe := s.probe(ctx)
	store := s.storeOf(residue.Job{})
	failed := false
	for entry, err := range store.List(ctx) {
		if stopped(drain) {
			break
		}
		if err == nil && entry.Damaged == 0 {
			err = s.sweepOne(ctx, store, entry, probe)
		}
		if err != nil {
			s.warn("%s/%s: %v", entry.Unit, entry.Invocation, err)
			failed = true
		}
	}
	if failed {
		return exitOwed, nil
	}
	return exitDone, nil
}

func stopped(drain <-chan struct{}) bool {
	select {
	case <-drain:
		return true
	default:
		return false
	}
}

// sweepOne cleans what one job owes, if that job is over. It holds the unit's
// lock, so that no new invocation is armed meanwhile, and looks again under it.
func (s *site) sweepOne(ctx context.Context, store *ledger.Store, entry ledger.Entry, probe ledger.Probe) error {
	led, err := store.Ledger(entry.Unit, entry.Invocation)
	if err != nil {
		return err
	}
	release, err := store.LockUnit(ctx, entry.Unit)
	if errors.Is(err, ledger.ErrBusy) {
		return nil // somebody is at it
	}
	if err != nil {
		return err
	}
	defer release()
	state, err := led.Replay(ctx)
	if err != nil {
		return err
	}
	if over, _ := state.Over(probe); !over {
		return nil
	}
	items, before := itemsOf(state), time.Time{}
	if state.Job.Witness == ledger.ByManager {
		before = time.Now() // the unit may start again at any moment
	}
	if s.unitRuns(ctx, state) {
		items = onlyOwn(items)
	}
	s.later(ctx, led, state, items, before)
	return nil
}

// sweepUnit cleans what other invocations of a unit owe, and earlier passes by
// hand: who names the unit means all of it. It returns the specs that they still owe, by id; nil
// when there was no such ledger.
func (s *site) sweepUnit(ctx context.Context, sub *subject) map[string]bool {
	var owed map[string]bool
	store, probe := s.storeOf(sub.job.Job), s.probe(ctx)
	for entry, err := range store.Ledgers(ctx, sub.job.Unit) {
		if err == nil && (entry.Damaged > 0 || entry.Invocation == sub.job.Invocation && entry.Invocation != byHand) {
			continue
		}
		if err == nil {
			err = s.sweepOne(ctx, store, entry, probe)
		}
		if err != nil {
			s.warn("%s/%s: %v", entry.Unit, entry.Invocation, err)
			continue
		}
		if owed == nil {
			owed = map[string]bool{}
		}
		s.owedBy(ctx, store, entry, owed)
	}
	return owed
}

// owedBy adds the specs that a ledger owes.
func (s *site) owedBy(ctx context.Context, store *ledger.Store, entry ledger.Entry, owed map[string]bool) {
	led, err := store.Ledger(entry.Unit, entry.Invocation)
	if err != nil {
		return
	}
	state, err := led.Replay(ctx)
	if err != nil {
		return // gone: nothing is owed
	}
	for _, debt := range state.Owed() {
		owed[debt.Spec.ID] = true
	}
}

// unitRuns reports whether the unit of a ledger may be active now, in whatever
// invocation.
func (s *site) unitRuns(ctx context.Context, state *ledger.State) bool {
	if state.Job.Witness != ledger.ByManager {
		return false
	}
	conn, err := s.dial(ctx, state.Job.UserBus)
	if err != nil {
		return true
	}
	defer conn.Close()
	life, err := conn.Live(ctx, state.Job.Unit)
	return err != nil || life.State != manager.Over
}

// onlyOwn keeps what can be no other invocation's.
func onlyOwn(items []engine.Item) []engine.Item {
	return slices.DeleteFunc(items, func(item engine.Item) bool { return !owned(item) })
}

// owned reports whether an item is certainly that of the invocation it was
// recorded for. Patterns belong to the unit, and so does what they found on
// this machine: a later invocation's mkdir -p takes an earlier one's folder,
// proof and all. arm settles that before the next job.
func owned(item engine.Item) bool {
	if item.Spec.Tracked != nil {
		return true
	}
	kind := kinds.Kind(item.Spec.Kind)
	return item.Resolved && (kind == nil || !kind.Local)
}

// later cleans items of a job that is over, outside of its hook. Of what is
// found by name only that is taken which was born before the given time, if
// there is one.
func (s *site) later(ctx context.Context, led *ledger.Ledger, state *ledger.State, items []engine.Item, before time.Time) {
	job := state.Job.Job
	job.Homes = homes(accounts("/etc/passwd"))
	job.Outside = len(job.Sandbox) > 0
	job.End = endOf(state, before)
	ending, sure := s.ending(ctx, state)
	job.Outcome = ending
	if s.uid == 0 && (job.User == nil || job.User.UID != 0) {
		items = withoutEnvironment(items)
	}
	if job.User == nil || job.User.Dynamic && !job.FullRights {
		items = withoutCommands(items)
	}
	rec := newRecorder(led, s.journal, job)
	rec.stash, rec.book.written = s.stash(job), true
	if len(items) > 0 {
		began, sum := time.Now(), engine.Summary{}
		if !sure {
			items = rec.holdConditional(items, &sum)
		}
		e := &engine.Engine{
			Kinds:    kinds,
			Deps:     func(spec residue.Spec) residue.Deps { return s.laterDeps(job, spec, rec) },
			Recorder: rec,
			Outcome:  job.Outcome,
		}
		sum.Merge(e.Run(ctx, nil, items))
		rec.summary(sum, time.Since(began))
	}
	rec.settle()
}

// endOf is when the job had ended at the latest: when its cleanup had, or at
// the given time; zero when nobody knows.
func endOf(state *ledger.State, latest time.Time) time.Time {
	if state.Ending == nil {
		return latest
	}
	end := state.Ending.RunEnd
	if end.IsZero() {
		end = state.Ending.RunStart
	}
	if end.IsZero() || !latest.IsZero() && latest.Before(end) {
		return latest
	}
	return end
}

// laterDeps are the dependencies of a pass that has no job's environment.
func (s *site) laterDeps(job residue.Job, spec residue.Spec, rec *recorder) residue.Deps {
	deps := s.deps(job, spec, rec)
	deps.Env = nil
	return deps
}

// withoutEnvironment drops what text of a job's environment stands in: root
// does nothing with it that the job could not do itself.
func withoutEnvironment(items []engine.Item) []engine.Item {
	var kept []engine.Item
	for _, item := range items {
		if !item.Spec.FromEnv {
			kept = append(kept, item)
		}
	}
	return kept
}

// withoutCommands drops what has no rights to run with: nobody knows whose, or
// those of a dynamic user, whose number may be somebody else's by now.
func withoutCommands(items []engine.Item) []engine.Item {
	return slices.DeleteFunc(items, func(item engine.Item) bool { return item.Spec.Kind == command.Kind.Name })
}

// probe is how the ledger looks at the world to tell whether a job is over.
func (s *site) probe(ctx context.Context) ledger.Probe {
	p := ledger.Probe{Now: time.Now(), Space: ledger.ProcessSpace(), Start: ledger.ProcessStart}
	p.Boot, _ = manager.BootID("/")
	p.Machine, _ = manager.MachineID("/")
	p.Unit = func(job ledger.Job) (ledger.UnitState, error) {
		conn, err := s.dial(ctx, job.UserBus)
		if err != nil {
			return ledger.UnitState{}, err
		}
		defer conn.Close()
		unit, err := conn.Unit(ctx, job.Unit)
		if errors.Is(err, manager.ErrNotLoaded) {
			return ledger.UnitState{Load: "not-found"}, nil
		}
		return ledger.UnitState{
			Load: unit.LoadState, Active: unit.ActiveState, Sub: unit.SubState, Invocation: unit.Invocation,
		}, err
	}
	return p
}
