package main

import (
	"cmp"
	"context"
	"time"

	"job-cleanup/pkg/engine"
	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/residue"
)

// What a step asked to be put off stands aside, where no later invocation comes
// to it. It is deleted after all else that a sweep has to do, and without the
// unit's lock: no job waits for it, and no lock or token of another job. That
// its unit runs again, every minute perhaps, does not keep it either.

// emptyLimit bounds what one sweep spends on that: the next one has other
// things to do too.
const emptyLimit = 5 * time.Minute

// waiting is a ledger of which something stands aside, or what the jobs of one
// owner wrote for a unit.
type waiting struct {
	store            *ledger.Store // nil: the owner's
	unit, invocation string
	owner            residue.Identity
}

// apart tells what stands aside from the other debts. Neither the ledger's word
// nor a name is enough for that: the kind looks, and its proof has to fit. With
// root's rights it does not look for what a job's environment names. All looks
// at one ledger's take no longer than one call: on a dead file server none ends,
// and other jobs wait.
func (p *pass) apart(ctx context.Context, state *ledger.State, debts []ledger.Debt) (others, aside []ledger.Debt) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(p.budget.Call, engine.CallLimit))
	defer cancel()
	job, cleaners := jobOf(state), map[string]residue.Deferrer{}
	sub := &subject{job: state.Job}
	for _, d := range debts {
		if d.Residue == nil || !isLocal(d.Spec) || d.Spec.FromEnv && p.uid == 0 && !sub.rootsOwn() {
			others = append(others, d)
			continue
		}
		cleaner, known := cleaners[d.Spec.ID]
		if !known {
			cleaner = p.deferrer(job, d.Spec)
			cleaners[d.Spec.ID] = cleaner
		}
		if cleaner != nil && cleaner.Aside(ctx, *d.Residue) {
			d.Spec.When, d.Spec.Timeout = nil, 0 // it was found, so the step applied; its time was the hook's
			aside = append(aside, d)
		} else {
			others = append(others, d)
		}
	}
	return others, aside
}

// deferrer opens a spec whose kind may put removals off, nil for any other.
func (p *pass) deferrer(job residue.Job, spec residue.Spec) residue.Deferrer {
	kind := kinds().Kind(spec.Kind)
	if kind == nil {
		return nil
	}
	cleaner, err := kind.Open(spec, p.laterDeps(job, spec, newRecorder(nil, p.journal, job)))
	if err != nil {
		return nil // the engine will say so
	}
	if deferrer, ok := cleaner.(residue.Deferrer); ok {
		return deferrer
	}
	residue.Close(cleaner)
	return nil
}

// empty deletes what stands aside of the ledgers that this round came to, those
// due for the longest first.
func (p *pass) empty(ctx context.Context) bool {
	ok, end := true, time.Now().Add(emptyLimit)
	p.emptying = true
	for _, w := range p.waiting {
		left := time.Until(end)
		if stopped(p.drain) || left <= 0 {
			break
		}
		p.budget.Total = min(left, engine.DefaultTotal)
		var err error
		if w.store != nil {
			err = p.emptyLedger(ctx, w)
		} else {
			_, err = p.tracked(ctx, w.owner, ledger.Job{Job: residue.Job{Unit: w.unit}}, sweepOrder{Aside: true, Before: time.Now()})
		}
		if err != nil {
			p.trouble(w.unit+"/"+w.invocation, err)
			ok = false
		}
	}
	return ok
}

// emptyLedger deletes what stands aside of one ledger's. Somebody else may be
// at the same: that is safe, and whoever is last settles the ledger.
func (p *pass) emptyLedger(ctx context.Context, w waiting) error {
	led, err := w.store.Ledger(w.unit, w.invocation)
	if err != nil {
		return err
	}
	state, err := p.over(ctx, led)
	if err != nil || state == nil {
		return err
	}
	if _, aside := p.apart(ctx, state, p.due(state)); len(aside) > 0 {
		p.later(ctx, led, state, aside, time.Time{})
	}
	return nil
}
