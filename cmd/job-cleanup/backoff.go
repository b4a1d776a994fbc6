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

// rest is the time from the nth try of a residue to the next one. What its hook
// could not do the next sweep tries, whenever that comes. Then the time doubles
// after each try, up to a limit, less up to a fifth by chance: what was recorded
// together must not be tried together for ever. Below the limit chance never
// makes it shorter than the one before.
func rest(n int) time.Duration {
	const doublings = 9 // reach the limit
	if n <= 1 {
		return 0
	}
	span := min(restFirst<<min(n-2, doublings), restMost)
	return span - rand.N(span/5)
}

// nextTry is when a sweep should come back to what an event left owed; zero
// means at the next opportunity.
func nextTry(ev engine.Event) time.Time {
	span := rest(ev.Attempt)
	if span == 0 {
		return time.Time{}
	}
	return time.Now().Add(span)
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
	kind := kinds().Kind(spec.Kind)
	return kind != nil && kind.Local
}
