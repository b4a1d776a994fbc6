package main

import (
	"context"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"job-cleanup/pkg/expand"
	"job-cleanup/pkg/outcome"
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
	s := p.site(o)
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
