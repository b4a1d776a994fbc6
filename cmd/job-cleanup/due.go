package main

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"job-cleanup/pkg/engine"
	"job-cleanup/pkg/ledger"
)

// look reads one ledger and tells whether, and since when, something in it is
// due. One that owes nothing is due to be removed.
func (p *pass) look(ctx context.Context, store *ledger.Store, entry ledger.Entry) (since time.Time, due bool, err error) {
	led, err := store.Ledger(entry.Unit, entry.Invocation)
	if err != nil {
		return since, false, err
	}
	state, err := led.Replay(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return since, false, nil // settled meanwhile
	}
	if err != nil {
		return since, false, err
	}
	debts := p.due(state)
	for i, d := range debts {
		if at := dueSince(d); i == 0 || at.Before(since) {
			since = at
		}
	}
	if due = len(debts) > 0 || state.Done(); !due && !p.local {
		_ = led.Rest(ctx, wakes(state, time.Now())) // else it is read again
	}
	return since, due, nil
}

// sleeps reports whether a ledger's mark says that nothing in it is due. A mark
// further ahead than any of ours was made by another clock.
func (p *pass) sleeps(entry ledger.Entry) bool {
	now := time.Now()
	return !p.eager && entry.Modified.After(now) && entry.Modified.Before(now.Add(restMost+time.Minute))
}

// wakes is when a ledger in which nothing is due has to be looked at again.
func wakes(state *ledger.State, now time.Time) time.Time {
	wake := now.Add(restMost)
	for _, d := range state.Owed() {
		for _, at := range []time.Time{d.Next, d.Until} {
			if at.After(now) && at.Before(wake) {
				wake = at
			}
		}
	}
	return wake
}

// dueSince is when a debt became due.
func dueSince(d ledger.Debt) time.Time {
	if d.Next.IsZero() {
		return d.Since
	}
	return d.Next
}

// due lists what a ledger owes that may be tried now. With a spec whose find is
// due come all its residues, which that find will list anyway.
func (p *pass) due(state *ledger.State) []ledger.Debt {
	now := time.Now()
	ready := func(d ledger.Debt) bool {
		switch {
		case expired(d, now):
			return true
		case p.local && !isLocal(d.Spec), p.remote && isLocal(d.Spec), now.Before(d.Until):
			return false
		}
		return p.eager || !resting(d, now)
	}
	owed, finds := state.Owed(), map[string]bool{}
	for _, d := range owed {
		if d.Residue == nil && ready(d) {
			finds[d.Spec.ID] = true
		}
	}
	return slices.DeleteFunc(owed, func(d ledger.Debt) bool { return !ready(d) && !finds[d.Spec.ID] })
}

// closeExpired ends the debts that ended by themselves, and returns the others.
func closeExpired(debts []ledger.Debt, rec engine.Recorder) []ledger.Debt {
	now := time.Now()
	return slices.DeleteFunc(debts, func(d ledger.Debt) bool {
		if !expired(d, now) {
			return false
		}
		rec.Record(engine.Event{Spec: d.Spec, Residue: d.Residue, Status: engine.NotRevocable, Reason: d.Reason, Until: d.Until})
		return true
	})
}
