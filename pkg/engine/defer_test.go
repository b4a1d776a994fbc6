package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"job-cleanup/pkg/residue"
)

// TestDeferredIsNoFailure: what was put off as its step asks is owed and no
// vain try, also when the time ended meanwhile.
func TestDeferredIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("early", "late", "vain")
		putOff := func(context.Context) error { return residue.Errorf(residue.Retry, residue.Deferred, "aside") }
		e := engineOf(w, map[string]fake{
			"early": {remove: putOff},
			"late":  {remove: func(ctx context.Context) error { <-ctx.Done(); return putOff(ctx) }},
		})
		e.Budget.Total = time.Second
		sum := e.Run(t.Context(), nil, []Item{item("early", residue.Data), item("late", residue.Data)})
		if sum.Deferred != 2 || sum.Count[Owed] != 2 || !sum.Clean() || sum.First != nil {
			t.Errorf("summary %+v", sum)
		}
		var all Summary
		all.Merge(sum)
		all.Add(Event{Status: Owed, Reason: residue.Deadline})
		if all.Deferred != 2 || all.Clean() || all.First == nil {
			t.Errorf("with a failure %+v", all)
		}
	})
}

// TestDeferredIsMadeAgain: what took the place of a thing that was put off is
// not forgotten.
func TestDeferredIsMadeAgain(t *testing.T) {
	for times, still := range map[int]int{0: 0, 1: 0, 9: 1} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld("tree")
			e := withSurvivors(w, map[string]int{"tree": times})
			open := e.Kinds.Kind("thing").Open
			e.Kinds.Kind("thing").Open = func(s residue.Spec, d residue.Deps) (residue.Cleaner, error) {
				c, err := open(s, d)
				return aside{c}, err
			}
			sum := e.Run(t.Context(), nil, []Item{item("tree", residue.Data)})
			if want := min(times, moreRounds) + 1; sum.Deferred != want || sum.Count[Owed] != want+still || sum.Clean() != (still == 0) {
				t.Errorf("made again %d times: %+v, want %d deferred", times, sum, want)
			}
			time.Sleep(moment) // what is made last is made inside the bubble
		})
	}
}

// aside puts off what it is to remove.
type aside struct{ residue.Cleaner }

func (a aside) Remove(ctx context.Context, r residue.Residue) error {
	if err := a.Cleaner.Remove(ctx, r); err != nil {
		return err
	}
	return residue.Errorf(residue.Retry, residue.Deferred, "aside")
}
