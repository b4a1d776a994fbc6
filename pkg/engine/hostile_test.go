package engine

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"job-cleanup/pkg/residue"
)

// deaf comes back from a look-up after it was given up. Nothing that it could
// wait for tells when that was.
type deaf struct{}

func (deaf) Find(ctx context.Context) ([]residue.Residue, error) {
	<-ctx.Done()
	time.Sleep(settle + 100*time.Millisecond)
	return []residue.Residue{{Type: "thing", Ref: "late"}}, nil
}

func (deaf) Remove(context.Context, residue.Residue) error { return nil }

// TestAbandonedFindIsNotUsed: what a look-up finds after it was given up is
// neither recorded nor removed, and does not disturb what is; the race
// detector looks on.
func TestAbandonedFindIsNotUsed(t *testing.T) {
	w := newWorld()
	e := engineOf(w, nil)
	e.Kinds.Kind("thing").Open = func(residue.Spec, residue.Deps) (residue.Cleaner, error) { return deaf{}, nil }
	e.Budget.Total = 10 * time.Millisecond
	known := residue.Residue{Type: "thing", Ref: "known"}
	known.Identify()
	owed := item("x", residue.Credentials)
	owed.Found = []residue.Residue{known}
	e.Run(t.Context(), nil, []Item{owed})
	time.Sleep(300 * time.Millisecond) // till it is back
	if w.index("removed late ") >= 0 || w.index("owed x deadline") < 0 || w.index("owed known deadline") < 0 {
		t.Errorf("what was found too late was used: %q", w.log)
	}
}

// TestAPanicInOpenIsOneFailure: a kind that panics over one spec keeps no
// other one from being cleaned.
func TestAPanicInOpenIsOneFailure(t *testing.T) {
	w := newWorld("good")
	e := engineOf(w, nil)
	good := e.Kinds.Kind("thing").Open
	e.Kinds.Kind("thing").Open = func(s residue.Spec, d residue.Deps) (residue.Cleaner, error) {
		if s.Value == "bad" {
			panic("no such option")
		}
		return good(s, d)
	}
	sum := e.Run(t.Context(), nil, []Item{item("bad", residue.Data), item("good", residue.Data)})
	if len(w.left()) > 0 || sum.Count[Owed] != 1 {
		t.Errorf("%v is left, %v", w.left(), sum.Count)
	}
}

// many finds more than there is room for.
type many struct {
	n    int
	most *atomic.Int64
}

func (m many) Find(context.Context) ([]residue.Residue, error) {
	var all []residue.Residue
	for i := range m.n {
		all = append(all, residue.Residue{Type: "thing", Ref: fmt.Sprint(i)})
	}
	return all, nil
}

func (m many) Remove(context.Context, residue.Residue) error {
	if n := int64(runtime.NumGoroutine()); n > m.most.Load() {
		m.most.Store(n)
	}
	return nil
}

// TestManyMatchesTakeFewGoroutines: anybody can make a pattern match a hundred
// thousand names in a shared folder.
func TestManyMatchesTakeFewGoroutines(t *testing.T) {
	var most atomic.Int64
	w := newWorld()
	e := engineOf(w, nil)
	e.Kinds.Kind("thing").Open = func(residue.Spec, residue.Deps) (residue.Cleaner, error) { return many{20000, &most}, nil }
	sum := e.Run(t.Context(), nil, []Item{item("x", residue.Data)})
	if sum.Count[Removed] != 20000 || most.Load() > 200 {
		t.Errorf("%v, %d goroutines", sum.Count, most.Load())
	}
	if !strings.HasPrefix(w.log[0], "found") {
		t.Errorf("first came %q", w.log[0])
	}
}

// TestNoTimeLeftIsNotTheUsualTime: what somebody else used up of a budget does
// not come back as the default.
func TestNoTimeLeftIsNotTheUsualTime(t *testing.T) {
	w := newWorld("thing")
	e := engineOf(w, nil)
	e.Budget.Total = -time.Second
	if sum := e.Run(t.Context(), nil, []Item{item("thing", residue.Credentials)}); sum.Count[Owed] != 1 || sum.First.Reason != residue.Deadline {
		t.Errorf("%v", sum)
	}
}
