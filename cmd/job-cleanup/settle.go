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
	release, err := store.LockUnit(ctx, sub.job.Unit)
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

// settlePrevious is for the hook of a unit that never arms: what belongs to the
// unit rather than to one invocation can only be taken now, when no job of it
// runs and none can start. The caller holds the unit's lock.
func (s *site) settlePrevious(ctx context.Context, drain <-chan struct{}, sub *subject, left time.Duration) {
	if !sub.hook || sub.job.CI || sub.job.Start.IsZero() || left <= 0 {
		return
	}
	round := s.newPass(ctx, drain)
	round.eager, round.local, round.budget = true, true, engine.Budget{Total: left}
	store := s.storeOf(sub.job.Job)
	round.earlier(ctx, store, sub, func(state *ledger.State) bool { return !state.Job.Armed })
}

// earlier tries what other invocations of the subject's unit owe, as far as it
// was there before the subject began. What depends on how a job ended is left
// to a job that ended so, since it may have taken the thing over.
func (p *pass) earlier(ctx context.Context, store *ledger.Store, sub *subject, wanted func(*ledger.State) bool) {
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
		debts := p.due(state)
		if sub.hook {
			debts = slices.DeleteFunc(debts, func(d ledger.Debt) bool { return !outcome.Matches(d.Spec.When, sub.outcome) })
		}
		p.later(ctx, led, state, debts, sub.job.Start)
	}
}
