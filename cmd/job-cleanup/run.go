package main

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"job-cleanup/pkg/engine"
	"job-cleanup/pkg/expand"
	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/outcome"
	"job-cleanup/pkg/residue"
)

func runVerb() *verb {
	return &verb{
		name:  "run",
		args:  "[UNIT]",
		short: "the hook: clean up now after a job",
		long: "Removes what a job left behind and writes down what it can't remove now. " +
			"Stands in ExecStopPost=, where it finds out by itself which job it is for and how that ended. " +
			"Exits 0 whatever it met, unless strict. May be run again at any time, also twice at once.",
		max: 1,
		options: func(fs *pflag.FlagSet, o *options) {
			whichJob(fs, o)
			whichSteps(fs, o)
			fs.StringVar(&o.timeout, "timeout", "", "take at most this `SPAN` instead of TimeoutSec=")
			fs.StringVar(&o.result, "result", "", "how the job ended, in a `WORD`: success, failure, cancelled, …")
			fs.BoolVar(&o.strict, "strict", false, "exit 1 when something is owed or refused")
			fs.BoolVar(&o.force, "force", false, "also while the unit is active")
			fs.BoolVar(&o.json, "json", false, "print records as JSON lines")
			whichFolders(fs, o)
			whichMetrics(fs, o)
		},
		run: runRun,
	}
}

func runRun(ctx context.Context, p *program, o *options) (int, error) {
	defer p.showProgress(o, unix.Getpgrp())()
	s, sub, err := p.about(ctx, o, false)
	if err != nil {
		return 0, err
	}
	defer s.close()
	if sub.outcome.Result == outcome.ExecCondition {
		return exitDone, nil // the job never ran: nothing to clean, nothing to say
	}
	if sub.busy() && !o.force {
		p.warn("wait for it to end, or say --force", "%s is active: its job may still need what would be removed", sub.job.Unit)
		return exitRefused, nil
	}
	if sub.handler() && s.cleaned(ctx, sub) {
		return exitDone, nil // there is a hook, and it has done it all
	}
	if sub.byHand() && o.whole() {
		if sub.identity.Invocation == "" {
			sub.job.Invocation = byHand // one ledger, however often it is tried
		}
		sub.elsewhere = s.sweepUnit(ctx, sub)
	}
	defer s.metrics(ctx, sub, time.Now())
	code, err := s.cleanup(ctx, sub)
	if o.strict && code == exitDone && len(sub.elsewhere) > 0 {
		code = exitOwed
	}
	return code, err
}

// whole reports whether nothing on the command line narrows what is meant: all
// that the unit owes.
func (o *options) whole() bool {
	return o.invocation == "" && o.plan == "" && len(o.steps)+len(o.skip)+len(o.only) == 0
}

// about opens the site and finds the job, a unit named as argument included.
func (p *program) about(ctx context.Context, o *options, own bool) (*site, *subject, error) {
	if len(o.args) > 0 {
		o.unit = o.args[0]
	}
	s, err := p.site(o)
	if err != nil {
		return nil, nil, err
	}
	sub, err := s.subject(ctx, own)
	if err != nil {
		s.close()
		return nil, nil, err
	}
	return s, sub, nil
}

// busy reports whether the job may still be at work: its unit is active, and
// we neither are its hook nor speak for one job of a CI runner.
func (sub *subject) busy() bool {
	return sub.active() && !sub.job.CI && !sub.handler()
}

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

// nothing tells a person that there was nothing to do; a hook stays silent
// about a job that left nothing to be removed by plan.
func (s *site) nothing(sub *subject) {
	if sub.hook || sub.elsewhere != nil {
		return
	}
	switch {
	case sub.identity.Unit == "":
		s.warn("name a UNIT, or say --plan FILE or --step LINE", "nothing to do: no unit, no step, nothing owed")
	case sub.unit == nil:
		s.warn("systemctl cat "+sub.job.Unit+"; a user's unit needs --user",
			"nothing to do for %s: there is no such unit file, and nothing is owed", sub.job.Unit)
	default:
		s.warn("add a section to the unit, or say --plan FILE or --step LINE", "nothing to do for %s: no [X-Cleanup.KIND] section, nothing owed", sub.job.Unit)
	}
}

// limit is what --timeout says.
func (o *options) limit() (time.Duration, error) {
	span, err := expand.Span(o.timeout)
	if err != nil || span <= 0 {
		return 0, usagef("a time span such as 90s or 5min", "--timeout %q is no time span", o.timeout)
	}
	return span, nil
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
