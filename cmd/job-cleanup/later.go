package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"job-cleanup/pkg/clean/command"
	"job-cleanup/pkg/engine"
	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/manager"
	"job-cleanup/pkg/residue"
)

// later tries debts of a job that is over, outside of its hook. Of what is
// found by name only that is taken which was born before the given time, if
// there is one.
func (p *pass) later(ctx context.Context, led *ledger.Ledger, state *ledger.State, debts []ledger.Debt, before time.Time) engine.Summary {
	sum, job := engine.Summary{}, jobOf(state)
	job.End = endOf(state, before)
	ending, sure := p.ending(ctx, state)
	job.Outcome = ending
	rec := newRecorder(led, p.journal, job)
	rec.stash, rec.book.written = p.stash(job), true
	var steps engine.Recorder = rec
	if p.recorder != nil { // a job's own ledger, which does not tell what root's needs the stash for
		steps, rec.stash = p.recorder(rec), nil
	}
	items := itemsFrom(closeExpired(debts, steps))
	if job.User == nil || job.User.Dynamic && !job.FullRights {
		items = withoutCommands(items)
	}
	if len(items) > 0 {
		began := time.Now()
		rec.progress = p.progress
		p.progress.expect(job.Unit, items)
		if !sure {
			items = rec.holdConditional(items, &sum)
		}
		items = p.lend(ctx, state, job, items, rec, &sum)
		e := &engine.Engine{
			Kinds:     kinds(),
			Deps:      func(spec residue.Spec) residue.Deps { return p.passDeps(job, spec, rec) },
			Recorder:  steps,
			Outcome:   job.Outcome,
			Budget:    p.budget,
			Endpoints: p.endpoints,
			Ready:     p.ready(ctx, state),
		}
		sum.Merge(e.Run(ctx, p.drain, items))
		rec.summary(sum, time.Since(began))
	}
	rec.settle()
	return sum
}

// jobOf is a ledger's job as seen outside of its hook.
func jobOf(state *ledger.State) residue.Job {
	job := state.Job.Job
	job.Homes = homes(accounts("/etc/passwd"))
	job.Outside = len(job.Sandbox) > 0
	return job
}

// lend has the items that text of a job's environment stands in tried with the
// job's rights, where root may not do it, and returns the others.
func (p *pass) lend(ctx context.Context, state *ledger.State, job residue.Job, items []engine.Item, rec *recorder, sum *engine.Summary) []engine.Item {
	sub := &subject{job: state.Job, outcome: job.Outcome, later: true}
	sub.job.Job = job
	if p.uid != 0 || sub.rootsOwn() {
		return items
	}
	var kept, lent []engine.Item
	for _, item := range items {
		if item.Spec.FromEnv {
			lent = append(lent, item)
		} else {
			kept = append(kept, item)
		}
	}
	if len(lent) > 0 {
		total := p.budget.Total
		if total <= 0 {
			total = engine.DefaultTotal
		}
		sum.Merge(p.asJob(ctx, p.drain, sub, lent, rec, total/2))
	}
	return kept
}

// stampLag is how much earlier than the clock a file system may stamp a file;
// kinds leave what is so close to the end of a job that it may be later.
const stampLag = 10 * time.Millisecond

// endOf is when the next invocation can have begun at the earliest: when the
// job's cleanup had ended, or at the given time; zero when nobody knows. Of a
// cleanup that was cut off only the beginning is known. The job had ended then,
// and what it made last must not be taken for the next one's.
func endOf(state *ledger.State, latest time.Time) time.Time {
	if state.Ending == nil {
		return latest
	}
	end := state.Ending.RunEnd
	if begun := state.Ending.RunStart; !begun.IsZero() && end.Before(begun.Add(stampLag)) {
		end = begun.Add(stampLag)
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

// withoutCommands drops what has no rights to run with: nobody knows whose, or
// those of a dynamic user, whose number may be somebody else's by now.
func withoutCommands(items []engine.Item) []engine.Item {
	return slices.DeleteFunc(items, func(item engine.Item) bool { return item.Spec.Kind == command.Kind.Name })
}

// unitRuns reports whether the unit of a ledger may be active now, in whatever
// invocation.
func (s *site) unitRuns(ctx context.Context, state *ledger.State) bool {
	return state.Job.Witness == ledger.ByManager && s.runs(ctx, state.Job.Unit, state.Job.UserBus)
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
