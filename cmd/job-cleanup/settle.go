package main

import (
	"context"
	"slices"
	"time"

	"job-cleanup/pkg/engine"
	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/outcome"
)

// settleEarlier removes what earlier invocations of the unit still owe on this
// machine, so that the job finds a clean place. What was born after the new
// invocation began is never touched.
func (s *site) settleEarlier(ctx context.Context, sub *subject) {
	if sub.identity.Unit == "" || sub.job.CI {
		return
	}
	store := s.storeOf(sub.job.Job)
	release, err := s.lockFor(ctx, store, sub.job.Unit)
	if err != nil {
		return // a sweep is at it already
	}
	defer release()
	round := s.newPass(ctx, nil)
	round.eager, round.local = true, true
	round.earlier(ctx, store, sub, func(*ledger.State) bool { return true })
	if s.uid == 0 && !sub.rootsOwn() && s.hasJobLedger(sub) {
		round.earlierTracked(ctx, sub)
	}
}

// settlePrevious is for what only the hook of the unit's next run can settle.
// What belongs to a unit that never arms, rather than to one invocation of it,
// can only be taken when no job of it runs and none can start. And a dynamic
// user has its number, and its folders, only while the unit has a process. What
// servers hold is settled here for those that arm too, since a unit may be
// active whenever a sweep comes.
func (s *site) settlePrevious(ctx context.Context, drain <-chan struct{}, sub *subject, left engine.Budget) {
	if !sub.hook || sub.job.CI || sub.job.Start.IsZero() || left.Total <= 0 {
		return
	}
	store, dynamic := s.storeOf(sub.job.Job), sub.job.User != nil && sub.job.User.Dynamic
	earlier, tracked := s.hasEarlier(ctx, store, sub), s.uid == 0 && dynamic && s.hasJobLedger(sub)
	if !earlier && !tracked {
		return
	}
	began := time.Now()
	round := func(local, remote bool) *pass {
		p := s.newPass(ctx, drain)
		p.eager, p.local, p.remote, p.budget = !remote && !dynamic, local, remote, left // servers may rest
		p.budget.Total -= time.Since(began)
		p.endpoints = &s.endpoints
		p.current(sub.job.Unit, sub.job.Invocation)
		return p
	}
	if earlier {
		release := s.lockUnit(ctx, sub, left)
		defer release()
		if !dynamic {
			round(true, false).earlier(ctx, store, sub, func(state *ledger.State) bool { return !state.Job.Armed })
		}
		round(false, !dynamic).earlier(ctx, store, sub, func(state *ledger.State) bool { return true })
	}
	if tracked {
		round(false, false).earlierTracked(ctx, sub)
	}
}

// current has a unit taken to be in this invocation. A dynamic user may not be
// able to ask the manager.
func (p *pass) current(unit, invocation string) {
	ask := p.probe.Unit
	p.probe.Unit = func(job ledger.Job) (ledger.UnitState, error) {
		if job.Unit == unit {
			return ledger.UnitState{Load: "loaded", Active: "active", Invocation: invocation}, nil
		}
		return ask(job)
	}
}

// hasEarlier reports whether other invocations of the subject's unit owe
// something.
func (s *site) hasEarlier(ctx context.Context, store *ledger.Store, sub *subject) bool {
	for entry, err := range store.Ledgers(ctx, sub.job.Unit) {
		if err == nil && entry.Damaged == 0 && entry.Invocation != sub.job.Invocation {
			return true
		}
	}
	return false
}

// earlier tries what other invocations of the subject's unit owe, as far as it
// was there before the subject began. What depends on how a job ended is left
// to a job that ended so, since it may have taken the thing over.
func (p *pass) earlier(ctx context.Context, store *ledger.Store, sub *subject, wanted func(*ledger.State) bool) {
	p.inside = true
	for entry, err := range store.Ledgers(ctx, sub.job.Unit) {
		if stopped(p.drain) {
			return
		}
		if err != nil || entry.Damaged > 0 || entry.Invocation == sub.job.Invocation {
			continue
		}
		led, err := store.Ledger(entry.Unit, entry.Invocation)
		if err != nil {
			continue
		}
		state, err := led.Replay(ctx)
		if err != nil || !wanted(state) {
			continue
		}
		if over, _ := state.Over(p.probe); !over {
			continue // a CI job under the unit of its runner, say
		}
		debts, _ := p.apart(ctx, state, p.due(state)) // the rest is in nobody's way
		if sub.hook {
			debts = slices.DeleteFunc(debts, func(d ledger.Debt) bool { return !outcome.Matches(d.Spec.When, sub.outcome) })
		}
		if !p.local {
			debts = slices.DeleteFunc(debts, bySecret)
		}
		p.later(ctx, led, state, debts, sub.job.Start)
	}
}
