package main

import (
	"context"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/residue"
)

func sweepVerb() *verb {
	return &verb{
		name:  "sweep",
		short: "clean up what jobs that are over still owe",
		long: "Goes through the ledgers of jobs that are certainly over and removes what they still owe: " +
			"after a power cut, a hook that was cut off, a holder that lived too long. " +
			"A job that may still run is left alone, and what was tried in vain rests for a while: " +
			"a minute at first, six hours at most.",
		options: func(fs *pflag.FlagSet, o *options) {
			fs.BoolVar(&o.boot, "boot", false, "only what is on this machine, rested or not: for a boot, before there is a network")
			fs.BoolVar(&o.eager, "all", false, "also what rests after a try in vain")
			fs.BoolVar(&o.json, "json", false, "print records as JSON lines")
			whichFolders(fs, o)
			whichMetrics(fs, o)
		},
		run: runSweep,
	}
}

func runSweep(ctx context.Context, p *program, o *options) (int, error) {
	defer p.showProgress(o, unix.Getpgrp())()
	s := p.site(o)
	defer s.close()
	defer s.metrics(ctx, nil, time.Now())
	ctx, drain, stop := s.stoppable(ctx)
	defer stop()
	round := s.newPass(ctx, drain)
	round.eager, round.local = o.eager || o.boot, o.boot
	round.credentials = s.env["CREDENTIALS_DIRECTORY"]
	ok := round.store(ctx, s.storeOf(residue.Job{}))
	if s.uid == 0 {
		ok = round.folders(ctx) && ok
	}
	if !o.boot { // which others wait for
		ok = round.empty(ctx) && ok
	}
	if !ok {
		return exitOwed, nil
	}
	return exitDone, nil
}

// sweepUnit cleans what other invocations of a unit owe, and earlier passes by
// hand: who names the unit means all of it. It returns the specs that they
// still owe, by id; nil when there was no such ledger.
func (s *site) sweepUnit(ctx context.Context, sub *subject) map[string]bool {
	var tried []ledger.Entry
	store, round := s.storeOf(sub.job.Job), s.newPass(ctx, nil)
	round.eager, round.byHand = true, true
	for entry, err := range store.Ledgers(ctx, sub.job.Unit) {
		if err == nil && entry.Damaged > 0 {
			continue
		}
		if err == nil && entry.Invocation == sub.job.Invocation && entry.Invocation != byHand {
			// It is cleaned next, which would leave what its hook put off.
			round.waiting = append(round.waiting, waiting{store: store, unit: entry.Unit, invocation: entry.Invocation})
			continue
		}
		if err == nil {
			err = round.job(ctx, store, entry)
		}
		if err != nil {
			s.trouble(entry.Unit+"/"+entry.Invocation, err)
			continue
		}
		tried = append(tried, entry)
	}
	round.empty(ctx)
	if tried == nil {
		return nil
	}
	owed := map[string]bool{}
	for _, entry := range tried {
		s.owedBy(ctx, store, entry, owed)
	}
	return owed
}

// owedBy adds the specs that a ledger owes. What was put off does not count:
// its place may hold what a later job left.
func (s *site) owedBy(ctx context.Context, store *ledger.Store, entry ledger.Entry, owed map[string]bool) {
	led, err := store.Ledger(entry.Unit, entry.Invocation)
	if err != nil {
		return
	}
	state, err := led.Replay(ctx)
	if err != nil {
		return // gone: nothing is owed
	}
	for _, debt := range state.Owed() {
		if debt.Reason != residue.Deferred {
			owed[debt.Spec.ID] = true
		}
	}
}
