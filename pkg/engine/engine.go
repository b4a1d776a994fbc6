// Package engine runs one cleanup: it opens what is owed, finds the residue,
// has it recorded, removes it, and has that recorded too.
//
// It knows no kind by name, no ledger and no journal. What is owed comes in as
// Items; every step goes out to a Recorder before the next one is taken, so
// that a crash at any point leaves a record of all that is still owed.
//
// One failure never stops the rest. Phases run in order, ranks in order inside
// a phase, and what is equal side by side.
package engine

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"job-cleanup/pkg/outcome"
	"job-cleanup/pkg/residue"
)

// Engine is one configured cleanup. It is used once.
type Engine struct {
	Kinds    *residue.Registry
	Deps     func(residue.Spec) residue.Deps // what a cleaner of this spec is given
	Recorder Recorder
	Outcome  outcome.Outcome // decides which steps apply; see When= of a plan
	Budget   Budget
	DryRun   bool // stop before the removal
	// Survivors says that processes of the job still run: what is removed on
	// this machine is looked for once more before it counts as removed.
	Survivors bool
	// Ready, if there is one, is asked right before each find and removal; its
	// error is then the answer, and nothing is called.
	Ready    func(Item) error
	Parallel int              // calls at once; 0 means 8
	Now      func() time.Time // nil means time.Now

	// Endpoints is what is known of servers; nil means nothing yet. Engines
	// that work off one queue share it, so that a dead server costs one
	// time-out in all.
	Endpoints *Endpoints

	calls   chan struct{} // a token for each call under way
	mu      sync.Mutex    // guards summary
	summary Summary
}

// Item is a spec together with what the ledger knows of it.
type Item struct {
	Spec     residue.Spec
	Found    []residue.Residue // recorded earlier and not closed yet
	Resolved bool              // an earlier Find succeeded: only Found is owed
	Attempts map[string]int    // earlier attempts, by residue or spec id
}

// task is an item on its way: opened, with the time it may take.
type task struct {
	Item
	cleaner  residue.Cleaner
	endpoint string
	again    *again // nil unless what is removed is looked for once more
}

// Run cleans the items and tells what became of them. When drain is closed no
// new call begins and those under way have Grace left; when ctx ends they are
// given up at once. Run returns within a second of that.
func (e *Engine) Run(ctx context.Context, drain <-chan struct{}, items []Item) Summary {
	e.init()
	ctx, stop := drained(ctx, drain)
	defer stop()
	clock := e.Budget.start(ctx)
	defer clock.stop()
	all := waves(e.open(items))
	for i, wave := range all {
		ctx, phase := clock.of(wave[0].Spec.Phase), wave[0].Spec.Phase
		e.sideBySide(wave, func(t task) { e.clean(ctx, drain, t) })
		if phase == residue.Data && (i+1 == len(all) || all[i+1][0].Spec.Phase != phase) {
			e.lookAgain(ctx, drain, slices.Concat(all[:i+1]...))
		}
	}
	return e.summary
}

func (e *Engine) init() {
	if e.Parallel <= 0 {
		e.Parallel = 8
	}
	if e.Now == nil {
		e.Now = time.Now
	}
	if e.Endpoints == nil {
		e.Endpoints = &Endpoints{}
	}
	e.calls = make(chan struct{}, e.Parallel)
	e.summary = Summary{Count: map[Status]int{}}
}

// open makes the cleaners of all items before any of them is used: a secret
// may stand in a file that an early phase removes.
func (e *Engine) open(items []Item) []task {
	var tasks []task
	for _, item := range items {
		if !outcome.Matches(item.Spec.When, e.Outcome) {
			e.report(Event{Spec: item.Spec, Status: Skipped, Reason: residue.Disabled})
			continue
		}
		cleaner, err := e.cleaner(item.Spec)
		if err != nil {
			e.unopened(item, err)
			continue
		}
		t := task{Item: item, cleaner: cleaner, again: e.another(item.Spec)}
		if remote, ok := cleaner.(residue.Endpointer); ok {
			t.endpoint = remote.Endpoint()
		}
		tasks = append(tasks, t)
	}
	return tasks
}

// unopened reports all that is owed of an item without a cleaner.
func (e *Engine) unopened(item Item, err error) {
	if !item.Resolved {
		e.fail(item, nil, err, 0)
	}
	for i := range item.Found {
		e.fail(item, &item.Found[i], err, 0)
	}
}

func (e *Engine) cleaner(spec residue.Spec) (cleaner residue.Cleaner, err error) {
	kind := e.Kinds.Kind(spec.Kind)
	if kind == nil {
		return nil, residue.Errorf(residue.Retry, residue.Other, "this version knows no kind %q", spec.Kind)
	}
	err = guarded(context.Background(), func(context.Context) (err error) {
		cleaner, err = kind.Open(spec, e.Deps(spec))
		return err
	})
	return cleaner, err
}

func (e *Engine) sideBySide(wave []task, do func(task)) {
	var all sync.WaitGroup
	for _, t := range wave {
		all.Go(func() { do(t) })
	}
	all.Wait()
}

// clean takes one task through find, record, remove, record. What its cleaner
// holds is let go before the next wave: a connection keeps a database from
// being dropped.
func (e *Engine) clean(ctx context.Context, drain <-chan struct{}, t task) {
	defer shut(t.cleaner)
	ctx, cancel := t.bound(ctx)
	defer cancel()
	caller := caller{engine: e, ctx: ctx, drain: drain, endpoint: t.endpoint}
	found, ok := e.find(caller, t)
	if len(found) == 0 && ok {
		e.report(Event{Spec: t.Spec, Status: Absent, Attempt: t.Attempts[t.Spec.ID] + 1})
		return
	}
	e.removeAll(caller, t, found)
}

// bound gives the step the time that it may take by itself.
func (t task) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if t.Spec.Timeout > 0 {
		return context.WithTimeoutCause(ctx, t.Spec.Timeout, errStep)
	}
	return ctx, func() {}
}

// removeAll removes side by side, but with no more goroutines than calls may
// be made: anybody can make a pattern match very many names.
func (e *Engine) removeAll(c caller, t task, found []residue.Residue) {
	var all sync.WaitGroup
	var next atomic.Int64
	for range min(e.Parallel, len(found)) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(found)); i = next.Add(1) - 1 {
				e.remove(c, t, found[i])
			}
		})
	}
	all.Wait()
}

// find lists what is there and has it recorded. It answers whether the spec
// itself is resolved, and all that is owed of it, earlier finds included.
func (e *Engine) find(c caller, t task) ([]residue.Residue, bool) {
	if t.Resolved {
		return t.Found, true
	}
	found, took, err := c.find(t)
	found = union(t.Found, found)
	if len(found) > 0 || err == nil {
		e.Recorder.Record(Event{Spec: t.Spec, Status: Found, Residues: found, Complete: err == nil})
	}
	if err != nil {
		e.fail(t.Item, nil, err, took)
	}
	return found, err == nil
}

// find calls the Find of a task's cleaner. Its results are to be used though it
// may have failed.
func (c caller) find(t task) (found []residue.Residue, took time.Duration, err error) {
	if err := c.engine.ready(t.Item); err != nil {
		return nil, 0, err
	}
	answer := make(chan []residue.Residue, 1)
	took, err = c.call(func(ctx context.Context) error {
		defer c.engine.begin(t.Spec, nil)()
		found, err := t.cleaner.Find(ctx)
		answer <- found
		return err
	})
	if err == nil || residue.AsError(err).Reason != abandoned { // else it may still come, too late
		select {
		case found = <-answer:
		default: // not tried, or it panicked
		}
	}
	for i := range found {
		if found[i].ID == "" {
			found[i].Identify()
		}
	}
	return found, took, err
}

// union adds what is new in more to known, by id.
func union(known, more []residue.Residue) []residue.Residue {
	all := append([]residue.Residue(nil), known...)
	have := map[string]bool{}
	for _, r := range all {
		have[r.ID] = true
	}
	for _, r := range more {
		if !have[r.ID] {
			have[r.ID] = true
			all = append(all, r)
		}
	}
	return all
}

func (e *Engine) ready(item Item) error {
	if e.Ready == nil {
		return nil
	}
	return e.Ready(item)
}

func (e *Engine) remove(c caller, t task, r residue.Residue) {
	if e.DryRun {
		e.report(Event{Spec: t.Spec, Residue: &r, Status: Found})
		return
	}
	took, err := time.Duration(0), e.ready(t.Item)
	if err == nil {
		took, err = c.call(func(ctx context.Context) error {
			defer e.begin(t.Spec, &r)()
			return t.cleaner.Remove(ctx, r)
		})
	}
	if err != nil {
		t.again.keep(r, residue.AsError(err).Reason)
		e.fail(t.Item, &r, err, took)
		return
	}
	ev := Event{Spec: t.Spec, Residue: &r, Status: Removed, Duration: took, Attempt: t.Attempts[r.ID] + 1}
	if !t.again.hold(ev) {
		e.report(ev)
	}
}
