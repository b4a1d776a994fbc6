package engine

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"job-cleanup/pkg/residue"
)

func TestDrainLetsCallsUnderWayEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("slow", "next")
		e := engineOf(w, map[string]fake{
			"slow": {remove: func(context.Context) error { time.Sleep(3 * time.Second); return nil }},
		})
		drain := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(drain) })
		sum := e.Run(t.Context(), drain, []Item{item("slow", residue.Data), item("next", residue.Locks)})
		if left := w.left(); !slices.Equal(left, []string{"next"}) {
			t.Errorf("left %q", left)
		}
		if sum.First.Reason != residue.Cancelled || sum.First.Attempt != 0 || w.index("find next") >= 0 {
			t.Errorf("first %+v", sum.First)
		}
	})
}

func TestSecondStopReturnsWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("stuck")
		e := engineOf(w, map[string]fake{"stuck": {remove: func(context.Context) error { time.Sleep(time.Minute); return nil }}})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		sum := e.Run(ctx, nil, []Item{item("stuck", residue.Data)})
		if took := time.Since(began) - time.Second; took > time.Second {
			t.Errorf("took %v after the stop", took)
		}
		if sum.Count[Owed] != 1 {
			t.Errorf("summary %+v", sum)
		}
		time.Sleep(time.Minute) // the abandoned call ends inside the bubble
	})
}

// Servers of one phase are asked side by side: the slowest of them decides the
// time, not their sum.
func TestSlowestServerDecides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, behave, items := newWorld(), map[string]fake{}, []Item(nil)
		for i := 1; i <= 4; i++ {
			v := fmt.Sprint(i)
			w.there[v] = true
			takes := time.Duration(i) * time.Second
			behave[v] = fake{endpoint: v, remove: func(context.Context) error { time.Sleep(takes); return nil }}
			items = append(items, item(v, residue.Data))
		}
		began := time.Now()
		sum := engineOf(w, behave).Run(t.Context(), nil, items)
		if took := time.Since(began); took != 4*time.Second || sum.Count[Removed] != 4 {
			t.Errorf("took %v for servers that take 1 to 4 s; %v", took, sum.Count)
		}
	})
}
