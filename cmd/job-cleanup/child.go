package main

import (
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"job-cleanup/pkg/engine"
	"job-cleanup/pkg/journal"
	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/residue"
)

func childVerb() *verb {
	return &verb{
		name: "child", hidden: true,
		short: "what root has done with a job's own rights",
		long:  "Started by job-cleanup itself; see asjob.go.",
		run:   runChild,
	}
}

func runChild(ctx context.Context, p *program, _ *options) (int, error) {
	if p.uid == 0 {
		return 0, errors.New("child is for processes that gave up root")
	}
	var o order
	if err := gob.NewDecoder(p.stdin).Decode(&o); err != nil {
		return 0, fmt.Errorf("read the order: %w", err)
	}
	ctx, drain, stop := p.stoppable(ctx)
	defer stop()
	job := o.Job.Job
	job.Outside, job.Homes, job.Outcome = o.Outside, o.Homes, o.Outcome
	p.env = o.Env
	out := &answers{out: p.stdout}
	if o.List {
		return exitDone, out.list(ctx, p, o)
	}
	s := &site{program: p, opts: &options{}, state: o.State, shared: o.State, runtime: o.Runtime, journal: out}
	if o.Sweep != nil {
		return exitDone, runSweepChild(ctx, s, drain, o, out)
	}
	rec := &childRecorder{recorder: newRecorder(nil, out, job), out: out, tracked: map[string]bool{}}
	var items []engine.Item
	if !o.Alone {
		items = rec.trackedItems(ctx, s)
	}
	if o.DryRun {
		rec.book.ledger = nil
	}
	if o.RunsAgain { // the job's ledger may hold patterns too
		items = onlyOwn(items, job.Invocation)
	}
	e := &engine.Engine{
		Kinds:    kinds(),
		Deps:     func(spec residue.Spec) residue.Deps { return s.childDeps(o, job, spec, rec) },
		Recorder: rec,
		Outcome:  o.Outcome,
		Budget:   engine.Budget{Total: o.Total},
		DryRun:   o.DryRun,

		Survivors: o.Survivors,
	}
	e.Run(ctx, drain, append(items, o.Items...))
	rec.settle()
	return exitDone, nil
}

// childDeps are the dependencies of a cleaner; without the job's environment
// what needs that waits for the unit's next run.
func (s *site) childDeps(o order, job residue.Job, spec residue.Spec, rec *childRecorder) residue.Deps {
	deps := s.deps(job, spec, rec.recorder)
	if o.Env == nil {
		deps = s.laterDeps(job, spec, rec.recorder)
	}
	if !rec.tracked[spec.ID] { // root writes it down, and nobody here can tell when
		deps.Later = nil
	}
	return deps
}

// childRecorder answers root, and writes what the job tracked to the job's own
// ledger.
type childRecorder struct {
	*recorder
	out     *answers
	tracked map[string]bool // specs of the job's ledger
	all     bool            // all are, and root has to be told the invocation
}

// Record implements engine.Recorder.
func (r *childRecorder) Record(ev engine.Event) {
	if r.all || r.tracked[ev.Spec.ID] {
		r.note(ev)
	}
	a := sent(ev)
	if r.all {
		a.Invocation = r.job.Invocation
	}
	_ = r.out.write(a)
}

// trackedItems lists what the job's own ledger owes.
func (r *childRecorder) trackedItems(ctx context.Context, s *site) []engine.Item {
	if !s.given(r.job.Unit) {
		return nil
	}
	own, err := ledger.Jobs(s.shared).Ledger(r.job.Unit, r.job.Invocation)
	if err != nil {
		return nil
	}
	state, err := own.Replay(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		r.missing(err)
		return nil
	}
	r.book.ledger, r.book.written = own, true
	items := trackable(itemsOf(state))
	mark(r.tracked, items)
	return items
}

// trackable drops what a job may not have tracked: kinds that act on more than
// the job's own things.
func trackable(items []engine.Item) []engine.Item {
	var kept []engine.Item
	for _, item := range items {
		if mayTrack(item.Spec) {
			kept = append(kept, item)
		}
	}
	return kept
}

// mayTrack reports whether a job may have tracked this.
func mayTrack(spec residue.Spec) bool {
	kind := kinds().Kind(spec.Kind)
	if kind == nil {
		return false
	}
	sel, ok := kind.Selector(spec.Selector)
	return ok && !sel.NoTrack
}

// list answers with what the job's ledgers of the unit owe.
func (a *answers) list(ctx context.Context, p *program, o order) error {
	s := &site{program: p, opts: &options{}, state: o.State, shared: o.State}
	lines, err := s.debts(ctx, ledger.Jobs(o.State), o.Job.Unit)
	for i := range lines {
		if err := a.write(answer{Debt: &lines[i]}); err != nil {
			return err
		}
	}
	return err
}

// answers writes the process's answers, a line each.
type answers struct {
	mu  sync.Mutex
	out io.Writer
}

// Send implements journal.Sender: root sends the record.
func (a *answers) Send(r journal.Record) error { return a.write(answer{Record: &r}) }

func (a *answers) write(what answer) error {
	line, err := json.Marshal(what)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	_, err = a.out.Write(append(line, '\n'))
	return err
}
