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
