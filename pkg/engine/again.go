package engine

import (
	"context"
	"sync"
	"time"

	"job-cleanup/pkg/residue"
)

// What outlived the job may make again what is removed, at once or a moment
// later. Removals are then told only after another look, and what keeps coming
// back is owed.
const (
	moment     = 100 * time.Millisecond // before the first look, twice as long before each next one
	moreRounds = 2                      // removals after the first; then it is owed
)

// again is what became of a task's residue so far. Nil for a task that is not
// looked at again.
type again struct {
	mu      sync.Mutex
	removed []Event
	stays   map[string]bool // residues that could not be removed, by id
	left    map[string]bool // references of these
	moved   bool            // something was put off: what took its place is looked for too
}

// another makes the place for what is to be looked at again. Only what is on
// this machine is: servers have seen the last of a job that they can tell.
func (e *Engine) another(spec residue.Spec) *again {
	kind := e.Kinds.Kind(spec.Kind)
	if !e.Survivors || e.DryRun || spec.Phase != residue.Data || kind == nil || !kind.Local {
		return nil
	}
	return &again{stays: map[string]bool{}, left: map[string]bool{}}
}

// hold takes a removal that is told later, and reports whether it did.
func (a *again) hold(ev Event) bool {
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.removed = append(a.removed, ev)
	return true
}

// keep notes what is owed still; that is told already.
func (a *again) keep(r residue.Residue, why residue.Reason) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stays[r.ID] = true
	if why == residue.Deferred {
		a.moved = true
	} else {
		a.left[r.Ref] = true
	}
}

// fresh are those of found that nothing was told about yet.
func (a *again) fresh(found []residue.Residue) []residue.Residue {
	var all []residue.Residue
	for _, r := range found {
		if !a.stays[r.ID] {
			all = append(all, r)
		}
	}
	return all
}

// lookAgain looks for what was removed, removes it anew if it is there, and
// gives up after a few rounds. Then it tells what went.
func (e *Engine) lookAgain(ctx context.Context, drain <-chan struct{}, tasks []task) {
	open := make([]task, 0, len(tasks))
	for _, t := range tasks {
		if t.again != nil && (len(t.again.removed) > 0 || t.again.moved) {
			open = append(open, t)
		}
	}
	for round := 0; len(open) > 0 && round <= moreRounds && pause(ctx, drain, moment<<round); round++ {
		for _, t := range open {
			e.cameBack(ctx, drain, t, round == moreRounds)
		}
	}
	for _, t := range open {
		e.tell(t.again)
	}
}

// pause waits, and reports whether there is time left after that.
func pause(ctx context.Context, drain <-chan struct{}, span time.Duration) bool {
	wait := time.NewTimer(span)
	defer wait.Stop()
	select {
	case <-wait.C:
		return true
	case <-ctx.Done():
	case <-drain:
	}
	return false
}

// cameBack looks for a task's residue and removes what there is, or in the last
// round leaves it owed. A look that fails takes nothing back: what was removed
// is removed.
func (e *Engine) cameBack(ctx context.Context, drain <-chan struct{}, t task, last bool) {
	cleaner, err := e.cleaner(t.Spec)
	if err != nil {
		return
	}
	defer shut(cleaner)
	t.cleaner = cleaner
	ctx, cancel := t.bound(ctx)
	defer cancel()
	c := caller{engine: e, ctx: ctx, drain: drain, endpoint: t.endpoint}
	found, took, _ := c.find(t)
	found = t.again.fresh(found)
	if len(found) == 0 {
		return
	}
	e.Recorder.Record(Event{Spec: t.Spec, Status: Found, Residues: found})
	if !last {
		e.removeAll(c, t, found)
		return
	}
	times := t.again.times()
	for i := range found {
		t.again.keep(found[i], residue.StillWritten)
		why := residue.Errorf(residue.Retry, residue.StillWritten, "made again after it was put off")
		if n := times[found[i].Ref]; n > 0 {
			why = residue.Errorf(residue.Retry, residue.StillWritten, "made again after it was removed, %d times in all", n)
		}
		e.fail(t.Item, &found[i], why, took)
	}
}

// times is how often each thing was removed, by its reference.
func (a *again) times() map[string]int {
	n := map[string]int{}
	for _, ev := range a.removed {
		n[ev.Ref()]++
	}
	return n
}

// tell reports each thing once: as removed what stays away, and what came back
// only by what became of that.
func (e *Engine) tell(a *again) {
	last := map[string]int{}
	for i, ev := range a.removed {
		last[ev.Ref()] = i
	}
	for i, ev := range a.removed {
		if a.left[ev.Ref()] || last[ev.Ref()] != i {
			ev.Status = Replaced
			e.Recorder.Record(ev)
			continue
		}
		e.report(ev)
	}
}
