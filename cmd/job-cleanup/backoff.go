package main

import (
	"math/rand/v2"
	"time"

	"job-cleanup/pkg/engine"
	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/residue"
)

// How long a residue rests between two tries, and how many tries make it stuck.
const (
	restFirst = time.Minute
	restMost  = 6 * time.Hour
	stuckFrom = 10
)

// rest is the time from the nth try of a residue to the next one: twice as long
// after each, up to a limit, less up to a fifth by chance, so that what was
// recorded together is not tried together for ever. Chance never makes it
// shorter than the one before, below the limit.
func rest(n int) time.Duration {
	span := restMost
	if n < 10 { // beyond that it is longer than the limit
		span = min(restFirst<<max(n-1, 0), restMost)
	}
	return span - rand.N(span/5)
}

// nextTry is when a sweep should come back to what an event left owed; zero
// means at the next opportunity, since nothing was tried.
func nextTry(ev engine.Event) time.Time {
	if ev.Attempt == 0 {
		return time.Time{}
	}
	return time.Now().Add(rest(ev.Attempt))
}

// expired reports whether a debt ended by itself: what can't be revoked is gone
// when its time is over.
func expired(d ledger.Debt, now time.Time) bool {
	return !d.Until.IsZero() && !now.Before(d.Until)
}

// resting reports whether it is too early for a debt.
func resting(d ledger.Debt, now time.Time) bool {
	return now.Before(d.Next) || now.Before(d.Until)
}

// stuck reports whether so many tries did not help that a person should look.
// It is still owed, and still tried.
func stuck(d ledger.Debt) bool { return d.Attempts >= stuckFrom }

// isLocal reports whether what a spec selects is on this machine.
func isLocal(spec residue.Spec) bool {
	kind := kinds.Kind(spec.Kind)
	return kind != nil && kind.Local
}
