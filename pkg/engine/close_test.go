package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"job-cleanup/pkg/residue"
)

// closer is a fake that keeps something between its calls.
type closer struct{ fake }

func (c closer) Close() error {
	c.w.note("close %s", c.spec.Value)
	if c.spec.Value == "brittle" {
		panic("closed badly")
	}
	return errors.New("of no interest")
}

// closing makes an engine like engineOf, of cleaners that are closers.
func closing(w *world, behave map[string]fake) *Engine {
	e := engineOf(w, behave)
	kind := e.Kinds.Kind("thing")
	plain := kind.Open
	kind.Open = func(s residue.Spec, d residue.Deps) (residue.Cleaner, error) {
		c, err := plain(s, d)
		if s.Value == "unopened" {
			err = errors.New("no")
		}
		return closer{c.(fake)}, err
	}
	return e
}

func TestCleanersAreClosedOnceAfterTheirLastCall(t *testing.T) {
	no := func(context.Context) error { return errors.New("no") }
	w := newWorld("first", "owed", "brittle", "next")
	e := closing(w, map[string]fake{"blind": {find: no}, "owed": {remove: no}})
	skipped := item("skipped", residue.Data)
	skipped.Spec.When = []string{"success"}
	e.Run(t.Context(), nil, []Item{
		item("first", residue.Data), item("owed", residue.Data), item("blind", residue.Data), item("absent", residue.Data),
		item("brittle", residue.Data), item("unopened", residue.Data), skipped, item("next", residue.Locks),
	})
	if left := w.left(); !slices.Equal(left, []string{"owed"}) {
		t.Errorf("left %q", left)
	}
	for _, closed := range []string{"first", "owed", "blind", "absent", "brittle", "next"} {
		if !w.once("close " + closed) {
			t.Errorf("%q is not closed once: %q", closed, w.log)
		}
	}
	for _, never := range []string{"unopened", "skipped"} {
		if w.index("close "+never) >= 0 {
			t.Errorf("%q was closed and never opened", never)
		}
	}
	if w.index("close first") < w.index("removed first ") || w.index("close first") > w.index("find next") {
		t.Errorf("closed at another time than after its removal and before the next phase: %q", w.log)
	}
}

// once reports whether a line stands in the log exactly once.
func (w *world) once(line string) bool {
	return w.index(line) >= 0 && strings.Count(strings.Join(w.log, "\n")+"\n", line+"\n") == 1
}

func TestCleanersThatAreNeverUsedAreClosed(t *testing.T) {
	for name, prepare := range map[string]func(*Engine) <-chan struct{}{
		"told to stop": func(*Engine) <-chan struct{} {
			drain := make(chan struct{})
			close(drain)
			return drain
		},
		"no time left": func(e *Engine) <-chan struct{} { e.Budget.Total = -time.Second; return nil },
		"a dead server": func(e *Engine) <-chan struct{} {
			e.Endpoints = &Endpoints{}
			e.Endpoints.Bury("dead")
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld("thing")
			e := closing(w, map[string]fake{"thing": {endpoint: "dead"}})
			drain := prepare(e)
			e.Run(t.Context(), drain, []Item{item("thing", residue.Data)})
			if w.index("find thing") >= 0 || !w.once("close thing") {
				t.Errorf("log %q", w.log)
			}
		})
	}
}

func TestADryRunClosesToo(t *testing.T) {
	w := newWorld("thing")
	e := closing(w, nil)
	e.DryRun = true
	e.Run(t.Context(), nil, []Item{item("thing", residue.Data)})
	if w.index("remove thing") >= 0 || !w.once("close thing") {
		t.Errorf("log %q", w.log)
	}
}

// A call that does not come back keeps its cleaner from being closed as little
// as it keeps us.
func TestAnAbandonedCallIsClosedUnder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("stuck")
		e := closing(w, map[string]fake{"stuck": {remove: func(context.Context) error { time.Sleep(time.Hour); return nil }}})
		e.Run(t.Context(), nil, []Item{item("stuck", residue.Data)})
		if !w.once("close stuck") || w.index("close stuck") < w.index("owed stuck deadline") {
			t.Errorf("log %q", w.log)
		}
		time.Sleep(time.Hour) // the abandoned call ends inside the bubble
	})
}
