package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"job-cleanup/pkg/outcome"
	"job-cleanup/pkg/residue"
)

// world is a set of residue that fake cleaners find and remove.
type world struct {
	mu    sync.Mutex
	there map[string]bool
	log   []string // "find x", "remove x", "found x", "removed x": calls and records as they came
}

func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, fmt.Sprintf(format, args...))
}

func (w *world) Record(ev Event) {
	w.note("%s %s %s", ev.Status, ev.Ref(), ev.Reason)
}

// fake is a cleaner whose value says how it behaves.
type fake struct {
	w        *world
	spec     residue.Spec
	endpoint string
	find     func(context.Context) error
	remove   func(context.Context) error
}

func (f fake) Endpoint() string { return f.endpoint }

func (f fake) Find(ctx context.Context) ([]residue.Residue, error) {
	f.w.note("find %s", f.spec.Value)
	if f.find != nil {
		if err := f.find(ctx); err != nil {
			return nil, err
		}
	}
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	if !f.w.there[f.spec.Value] {
		return nil, nil
	}
	return []residue.Residue{{Type: "thing", Ref: f.spec.Value}}, nil
}

func (f fake) Remove(ctx context.Context, r residue.Residue) error {
	f.w.note("remove %s", r.Ref)
	if f.remove != nil {
		if err := f.remove(ctx); err != nil {
			return err
		}
	}
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	if !f.w.there[r.Ref] {
		return residue.ErrGone
	}
	delete(f.w.there, r.Ref)
	return nil
}

// engineOf makes an engine whose one kind behaves as told for each value.
func engineOf(w *world, behave map[string]fake) *Engine {
	kind := &residue.Kind{Name: "thing", Open: func(s residue.Spec, _ residue.Deps) (residue.Cleaner, error) {
		f := behave[s.Value]
		f.w, f.spec = w, s
		return f, nil
	}}
	return &Engine{
		Kinds:    residue.NewRegistry(kind),
		Deps:     func(residue.Spec) residue.Deps { return residue.Deps{} },
		Recorder: w,
		Outcome:  outcome.Outcome{Result: "exit-code"},
	}
}

func item(value string, phase residue.Phase) Item {
	s := residue.Spec{Kind: "thing", Selector: "Remove", Value: value, Phase: phase}
	s.Identify()
	return Item{Spec: s}
}

func newWorld(values ...string) *world {
	w := &world{there: map[string]bool{}}
	for _, v := range values {
		w.there[v] = true
	}
	return w
}

func (w *world) left() []string {
	var all []string
	for v := range w.there {
		all = append(all, v)
	}
	slices.Sort(all)
	return all
}

func (w *world) index(entry string) int { return slices.Index(w.log, entry) }

func TestPhasesRunInOrder(t *testing.T) {
	w := newWorld("token", "lock", "tree", "process")
	e := engineOf(w, nil)
	sum := e.Run(t.Context(), nil, []Item{
		item("token", residue.Credentials), item("lock", residue.Locks),
		item("tree", residue.Data), item("process", residue.Processes),
	})
	if left := w.left(); len(left) > 0 || sum.Count[Removed] != 4 || !sum.Clean() {
		t.Fatalf("left %q, summary %v", left, sum)
	}
	last := -1
	for _, v := range []string{"process", "tree", "lock", "token"} {
		at := w.index("remove " + v)
		if at < last {
			t.Errorf("%s was removed too early: %q", v, w.log)
		}
		last = at
	}
}

func TestRecordedBeforeRemoved(t *testing.T) {
	w := newWorld("tree")
	engineOf(w, nil).Run(t.Context(), nil, []Item{item("tree", residue.Data)})
	want := []string{"find tree", "found tree ", "remove tree", "removed tree "}
	if !slices.Equal(w.log, want) {
		t.Errorf("got %q, want %q", w.log, want)
	}
}

func TestCase08_oneFailureStopsNothing(t *testing.T) {
	w := newWorld("first", "second", "third")
	e := engineOf(w, map[string]fake{
		"second": {remove: func(context.Context) error { return errors.New("no") }},
	})
	e.Parallel = 1
	sum := e.Run(t.Context(), nil, []Item{item("first", residue.Data), item("second", residue.Data), item("third", residue.Data)})
	if left := w.left(); !slices.Equal(left, []string{"second"}) {
		t.Errorf("left %q", left)
	}
	if sum.Count[Removed] != 2 || sum.Count[Owed] != 1 || sum.First.Ref() != "second" || sum.First.Attempt != 1 {
		t.Errorf("summary %+v", sum)
	}
}

func TestAPanicIsOneFailure(t *testing.T) {
	w := newWorld("bad", "good")
	e := engineOf(w, map[string]fake{"bad": {find: func(context.Context) error { panic("oops") }}})
	sum := e.Run(t.Context(), nil, []Item{item("bad", residue.Data), item("good", residue.Data)})
	if left := w.left(); !slices.Equal(left, []string{"bad"}) || sum.Count[Owed] != 1 {
		t.Errorf("left %q, summary %+v", left, sum)
	}
}

func TestUnknownKindStaysOwed(t *testing.T) {
	w := newWorld("tree")
	alien := item("x", residue.Data)
	alien.Spec.Kind = "alien"
	sum := engineOf(w, nil).Run(t.Context(), nil, []Item{alien, item("tree", residue.Data)})
	if sum.Count[Owed] != 1 || sum.Count[Removed] != 1 {
		t.Errorf("summary %+v", sum)
	}
}

func TestWhenSkips(t *testing.T) {
	w := newWorld("tree")
	it := item("tree", residue.Data)
	it.Spec.When = []string{"success"}
	sum := engineOf(w, nil).Run(t.Context(), nil, []Item{it})
	if sum.Count[Skipped] != 1 || len(w.left()) != 1 || w.index("find tree") >= 0 {
		t.Errorf("summary %+v, log %q", sum, w.log)
	}
}

func TestDryRunChangesNothing(t *testing.T) {
	w := newWorld("tree")
	e := engineOf(w, nil)
	e.DryRun = true
	sum := e.Run(t.Context(), nil, []Item{item("tree", residue.Data)})
	if len(w.left()) != 1 || sum.Count[Found] != 1 || w.index("remove tree") >= 0 {
		t.Errorf("summary %+v, log %q", sum, w.log)
	}
}

func TestResolvedIsNotListedAgain(t *testing.T) {
	w := newWorld("tree", "old")
	it := item("tree", residue.Data)
	it.Resolved = true
	it.Found = []residue.Residue{{ID: "1", Type: "thing", Ref: "old"}}
	engineOf(w, nil).Run(t.Context(), nil, []Item{it})
	if left := w.left(); !slices.Equal(left, []string{"tree"}) {
		t.Errorf("left %q: a resolved spec owes only what it found", left)
	}
}

func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestReserveForCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("tree", "token")
		e := engineOf(w, map[string]fake{"tree": {remove: hang}})
		e.Budget.Total = 4 * time.Second
		began := time.Now()
		sum := e.Run(t.Context(), nil, []Item{item("tree", residue.Data), item("token", residue.Credentials)})
		if left := w.left(); !slices.Equal(left, []string{"tree"}) {
			t.Errorf("left %q", left)
		}
		if sum.First.Reason != residue.Deadline {
			t.Errorf("reason %q", sum.First.Reason)
		}
		if took := time.Since(began); took > 3500*time.Millisecond {
			t.Errorf("the tree had %v of 3 s", took)
		}
	})
}

func TestCase09_oneTimeoutForADeadHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, behave, items := newWorld(), map[string]fake{}, []Item(nil)
		for i := range 20 {
			v := fmt.Sprint(i)
			w.there[v] = true
			behave[v] = fake{endpoint: "dead", find: hang}
			items = append(items, item(v, residue.Data))
		}
		w.there["alive"] = true
		behave["alive"] = fake{endpoint: "alive"}
		items = append(items, item("alive", residue.Data))
		began := time.Now()
		sum := engineOf(w, behave).Run(t.Context(), nil, items)
		if took := time.Since(began); took > CallLimit+time.Second {
			t.Errorf("took %v, one timeout is %v", took, CallLimit)
		}
		if sum.Count[Owed] != 20 || sum.Count[Removed] != 1 || sum.First.Reason != residue.Timeout {
			t.Errorf("summary %+v", sum)
		}
	})
}

func TestEndpointThatAnswersIsSharedInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(context.Context) error { time.Sleep(time.Second); return nil }
		w, behave, items := newWorld(), map[string]fake{}, []Item(nil)
		for i := range 9 {
			v := fmt.Sprint(i)
			behave[v] = fake{endpoint: "e", find: slow}
			items = append(items, item(v, residue.Data))
		}
		began := time.Now()
		engineOf(w, behave).Run(t.Context(), nil, items)
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("took %v: one alone, then eight at once, is 2 s", took)
		}
	})
}
