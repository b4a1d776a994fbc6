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

// recorderFunc is a Recorder.
type recorderFunc func(Event)

func (f recorderFunc) Record(ev Event) { f(ev) }

// withSurvivors is an engine of a local kind whose things come back: each
// removal is undone a moment later, as often as times says. What comes back is
// another thing of the same name.
func withSurvivors(w *world, times map[string]int) *Engine {
	made := map[string]int{}
	kind := &residue.Kind{Name: "thing", Local: true, Open: func(s residue.Spec, _ residue.Deps) (residue.Cleaner, error) {
		return comesBack{fake{w: w, spec: s}, times, made}, nil
	}}
	e := engineOf(w, nil)
	e.Kinds, e.Survivors = residue.NewRegistry(kind), true
	return e
}

type comesBack struct {
	fake
	times map[string]int
	made  map[string]int
}

func (c comesBack) Find(ctx context.Context) ([]residue.Residue, error) {
	found, err := c.fake.Find(ctx)
	for i := range found {
		found[i].Proof = map[string]string{"ino": fmt.Sprint(c.made[c.spec.Value])}
	}
	return found, err
}

func (c comesBack) Remove(ctx context.Context, r residue.Residue) error {
	err := c.fake.Remove(ctx, r)
	if made := c.made[r.Ref]; err == nil && made < c.times[r.Ref] {
		c.made[r.Ref]++
		time.AfterFunc(moment/2, func() {
			c.w.mu.Lock()
			defer c.w.mu.Unlock()
			c.w.there[r.Ref] = true
		})
	}
	return err
}

func TestCase29_madeAgain(t *testing.T) {
	tests := map[int][]string{
		0: {"removed tree "},
		1: {"replaced tree ", "removed tree "},
		2: {"replaced tree ", "replaced tree ", "removed tree "},
		3: {"owed tree still-written", "replaced tree ", "replaced tree ", "replaced tree "},
		9: {"owed tree still-written", "replaced tree ", "replaced tree ", "replaced tree "},
	}
	for times, want := range tests {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld("tree", "lock")
			e := withSurvivors(w, map[string]int{"tree": times})
			began := time.Now()
			sum := e.Run(t.Context(), nil, []Item{item("lock", residue.Locks), item("tree", residue.Data)})
			if took := time.Since(began); took > 7*moment {
				t.Errorf("took %v", took)
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			var told []string
			for _, line := range w.log[:w.index("find lock")] {
				if line != "find tree" && line != "remove tree" && line != "found tree " {
					told = append(told, line)
				}
			}
			if !slices.Equal(told, want) {
				t.Errorf("%d times: told %q, want %q", times, told, want)
			}
			owed := 0
			if times > moreRounds {
				owed = 1
			}
			if sum.Count[Owed] != owed || sum.Count[Removed] != 2-owed || sum.Count[Replaced] != 0 {
				t.Errorf("%d times: summary %v", times, sum.Count)
			}
		})
	}
}

// TestMadeAgainIsRecorded: what stands there at the end is in the record of
// what is owed, and what it took the place of is not.
func TestMadeAgainIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("tree")
		owed := map[string]bool{}
		e := withSurvivors(w, map[string]int{"tree": 9})
		e.Recorder = recorderFunc(func(ev Event) {
			switch {
			case ev.Status == Found:
				for _, r := range ev.Residues {
					owed[r.ID] = true
				}
			case ev.Status != Owed:
				delete(owed, ev.ID())
			}
		})
		e.Run(t.Context(), nil, []Item{item("tree", residue.Data)})
		last := residue.Residue{Type: "thing", Ref: "tree", Proof: map[string]string{"ino": "3"}}
		last.Identify()
		if len(owed) != 1 || !owed[last.ID] {
			t.Errorf("owed is %v, want only %s", owed, last.ID)
		}
	})
}

// TestNoLookWithoutSurvivors: where no process of the job runs, what comes back
// is the next one's.
func TestNoLookWithoutSurvivors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("tree")
		e := withSurvivors(w, map[string]int{"tree": 1})
		e.Survivors = false
		e.Run(t.Context(), nil, []Item{item("tree", residue.Data)})
		time.Sleep(time.Second)
		synctest.Wait()
		if left := w.left(); !slices.Equal(left, []string{"tree"}) {
			t.Errorf("left %q", left)
		}
	})
}

// TestLookEndsWithTheTime: a look takes no time that there is not, and what was
// removed is told all the same.
func TestLookEndsWithTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("tree")
		e := withSurvivors(w, nil)
		e.Budget.Total = moment / 2
		began := time.Now()
		sum := e.Run(t.Context(), nil, []Item{item("tree", residue.Data)})
		if time.Since(began) > moment/2 || sum.Count[Removed] != 1 {
			t.Errorf("%v after %v", sum.Count, time.Since(began))
		}
	})
}
