package main

import (
	"context"

	"github.com/spf13/pflag"

	"job-cleanup/pkg/engine"
	"job-cleanup/pkg/residue"
)

func planVerb() *verb {
	return &verb{
		name:  "plan",
		args:  "[UNIT]",
		short: "what run would remove, and why not the rest",
		long: "Does all that run does up to the removal, and changes nothing: no residue, no ledger, no journal. " +
			"Exits 1 when a step of the plan is wrong.",
		max: 1,
		options: func(fs *pflag.FlagSet, o *options) {
			whichJob(fs, o)
			whichSteps(fs, o)
			fs.BoolVar(&o.json, "json", false, "print records as JSON lines")
			whichFolders(fs, o)
		},
		run: runPlan,
	}
}

func runPlan(ctx context.Context, p *program, o *options) (int, error) {
	o.dry = true
	s, sub, err := p.about(ctx, o, false)
	if err != nil {
		return 0, err
	}
	defer s.close()
	ctx, drain, stop := s.stoppable(ctx)
	defer stop()
	own, err := s.ledgerOf(sub.job.Job)
	if err != nil {
		return 0, err
	}
	w, err := s.gather(ctx, sub, own)
	if err != nil {
		return 0, err
	}
	rec := newRecorder(nil, s.journal, sub.job.Job)
	if w.empty() {
		s.nothing(sub)
		return exitDone, nil
	}
	sum := rec.refusals(w.plan)
	s.hintUnset(sub, w.plan)
	if w.tracked || len(w.lent) > 0 {
		sum.Merge(s.asJob(ctx, drain, sub, w.lent, rec, engine.DefaultTotal))
	}
	e := &engine.Engine{
		Kinds:    kinds(),
		Deps:     func(spec residue.Spec) residue.Deps { return s.deps(sub.job.Job, spec, rec) },
		Recorder: rec,
		Outcome:  sub.outcome,
		DryRun:   true,
	}
	sum.Merge(e.Run(ctx, drain, w.items))
	if sum.Count[engine.Refused] > 0 {
		return exitOwed, nil
	}
	return exitDone, nil
}
