package main

import (
	"context"
	"slices"
	"time"

	"job-cleanup/pkg/engine"
	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/residue"
)

// cleanup does the whole work for one job that is over.
func (s *site) cleanup(ctx context.Context, sub *subject) (int, error) {
	began := time.Now()
	ctx, drain, stop := s.stoppable(ctx)
	defer stop()
	own, err := s.ledgerOf(sub.job.Job)
	if err != nil {
		s.trouble("nothing can be written down", err)
	}
	w, err := s.gather(ctx, sub, own)
	if err != nil {
		return 0, err
	}
	rec := newRecorder(own, s.journal, sub.job.Job)
	rec.survivors = s.survivors(sub)
	if s.uid == 0 || !sub.job.Armed { // else root's ledger still owes what needs the stash
		rec.stash = s.stash(sub.job.Job)
	}
	budget, err := s.budget(sub, w)
	if err != nil {
		return 0, err
	}
	if w.empty() {
		s.nothing(sub)
		s.settlePrevious(ctx, drain, sub, budget)
		return exitDone, nil
	}
	release := s.lockUnit(ctx, sub, budget)
	rec.progress = s.progress
	s.progress.expect(sub.job.Unit, slices.Concat(w.lent, w.items))
	defer s.notifySystemd(budget, w)()
	sum := s.clean(ctx, drain, sub, w, rec, budget)
	rec.book.end(ledger.Ended(ledger.Ending{Outcome: sub.outcome, RunStart: began, RunEnd: time.Now()}))
	rec.summary(sum, time.Since(began))
	rec.settle()
	release()
	budget.Total -= time.Since(began)
	s.settlePrevious(ctx, drain, sub, budget)
	if (s.opts.strict || w.plan.Settings.Strict) && !sum.Clean() {
		return exitOwed, nil
	}
	return exitDone, nil
}

// clean records what is owed, then removes it: first what needs the job's own
// rights, then the rest.
func (s *site) clean(ctx context.Context, drain <-chan struct{}, sub *subject, w *work, rec *recorder, budget engine.Budget) engine.Summary {
	sum := rec.refusals(w.plan)
	s.hintUnset(sub, w.plan)
	s.keepForLater(sub, w, rec)
	// The ending first: should this be cut off, a later look must not take the
	// job for lost.
	s.unrecord(sub, w, rec)
	rec.begin(w, sub, ledger.Ended(ledger.Ending{Outcome: sub.outcome, RunStart: time.Now()}))
	if s.runsAgain(sub) {
		w.lent, w.items = rec.leavePatterns(w.lent, &sum), rec.leavePatterns(w.items, &sum)
	}
	w.items = rec.lostRights(sub, w.items, &sum)
	if w.tracked || len(w.lent) > 0 {
		began := time.Now()
		sum.Merge(s.asJob(ctx, drain, sub, w.lent, rec, budget.Total/2))
		budget.Total -= time.Since(began)
	}
	e := &engine.Engine{
		Kinds:    kinds(),
		Deps:     func(spec residue.Spec) residue.Deps { return s.deps(sub.job.Job, spec, rec) },
		Recorder: rec,
		Outcome:  sub.outcome,
		Budget:   budget,

		Survivors: rec.survivors.any(),
		Endpoints: &s.endpoints,
	}
	sum.Merge(e.Run(ctx, drain, w.items))
	return sum
}

// runsAgain reports whether what the plan names may be another invocation's.
func (s *site) runsAgain(sub *subject) bool { return sub.otherInvocation() && !s.opts.force }

// begin records what a cleanup begins with: at once where the job has a ledger
// already, else with the first thing that is found.
func (r *recorder) begin(w *work, sub *subject, ending ledger.Record) {
	records := append(w.newRecords(sub.job), ending)
	if len(w.recorded) > 0 {
		r.book.add(records...)
	} else {
		r.book.open(records)
	}
}

// newRecords are the ledger lines for what is not recorded yet.
func (w *work) newRecords(job ledger.Job) []ledger.Record {
	var specs []ledger.Record
	for _, item := range slices.Concat(w.lent, w.items) {
		if !w.recorded[item.Spec.ID] && !w.unwritten[item.Spec.ID] {
			specs = append(specs, ledger.NewSpec(item.Spec))
		}
	}
	if len(specs) > 0 {
		specs = append([]ledger.Record{ledger.NewJob(job)}, specs...)
	}
	for _, id := range w.closed {
		if w.recorded[id] {
			specs = append(specs, ledger.Closed(id, "", string(engine.Skipped), residue.Disabled))
		}
	}
	return specs
}

// empty reports whether there is neither work nor anything to complain about.
func (w *work) empty() bool {
	return !w.tracked && len(w.items)+len(w.lent)+len(w.plan.Problems)+len(w.plan.Skips) == 0
}

// budget is the time this cleanup may take: what the command line or the plan
// says, else two thirds of what the manager gives the hook.
func (s *site) budget(sub *subject, w *work) (engine.Budget, error) {
	if s.opts.timeout != "" {
		span, err := s.opts.limit()
		return engine.Budget{Total: span}, err
	}
	switch {
	case w.plan.Settings.Timeout > 0:
		return engine.Budget{Total: w.plan.Settings.Timeout}, nil
	case sub.job.StopLimit > 0 && sub.hook:
		return engine.Budget{Total: sub.job.StopLimit * 2 / 3}, nil
	}
	return engine.Budget{Total: engine.DefaultTotal}, nil
}

// lockUnit keeps arm and sweep from settling the same unit meanwhile. Who holds
// the lock for long does not keep us from work that is safe twice at once.
func (s *site) lockUnit(ctx context.Context, sub *subject, budget engine.Budget) func() {
	if sub.job.CI || sub.identity.Unit == "" {
		return func() {}
	}
	ctx, cancel := context.WithTimeout(ctx, min(budget.Total/4, 10*time.Second))
	defer cancel()
	release, err := s.storeOf(sub.job.Job).LockUnit(ctx, sub.job.Unit)
	if err != nil {
		return func() {}
	}
	return release
}

// leavePatterns takes out what may be the new invocation's while the unit runs
// again.
func (r *recorder) leavePatterns(items []engine.Item, sum *engine.Summary) []engine.Item {
	var kept []engine.Item
	for _, item := range items {
		if owned(item, r.job.Invocation) {
			kept = append(kept, item)
			continue
		}
		ev := engine.Event{Spec: item.Spec, Status: engine.Owed, Reason: residue.InUse, Err: errRunsAgain}
		r.Record(ev)
		sum.Add(ev)
	}
	return kept
}
