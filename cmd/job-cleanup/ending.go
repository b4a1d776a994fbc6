package main

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"slices"
	"time"

	"job-cleanup/pkg/engine"
	"job-cleanup/pkg/journal"
	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/outcome"
	"job-cleanup/pkg/residue"
)

// journalLimit bounds the question how one job ended.
const journalLimit = 3 * time.Second

// ending is how a job that is over ended. A hook that could not write into this
// ledger, a plain user's or one in a sandbox, has told the journal. Taking such
// a job for lost would do what its plan has for a failure, and remove what it
// made with success. Not sure means that nobody can tell.
func (s *site) ending(ctx context.Context, state *ledger.State) (ending outcome.Outcome, sure bool) {
	lost := outcome.Outcome{Result: outcome.Lost}
	switch {
	case state.Ending != nil:
		return state.Ending.Outcome, true
	case state.Job.Witness != ledger.ByManager || !state.Job.Armed:
		return lost, true // whose hook writes what it owes itself, and where it can
	}
	ctx, cancel := context.WithTimeout(ctx, journalLimit)
	defer cancel()
	job := state.Job.Job
	user := uint32(s.uid)
	if job.User != nil && !job.UserBus {
		user = job.User.UID
	}
	// Of a process that ended at once the journal knows the user, but may not
	// know the unit any more.
	trusted := func(e journal.Entry) bool { return e.Trusted() || e.TrustedUser(user) }
	return told(s.told(ctx, job), trusted)
}

// told reads what the journal has of a job, oldest first.
func (s *site) told(ctx context.Context, job residue.Job) iter.Seq2[journal.Entry, error] {
	reader := journal.Reader{}
	s.flushed.Do(func() { reader.Sync(ctx) })
	return reader.Read(ctx, "JOB_CLEANUP_UNIT="+job.Unit, "JOB_CLEANUP_INVOCATION="+job.Invocation)
}

// cleaned reports whether the job's own hook, with rights like ours, left
// nothing owed. Its handler would then run the commands of the plan again.
func (s *site) cleaned(ctx context.Context, sub *subject) bool {
	led, err := s.ledgerOf(sub.job.Job)
	if err != nil || led == nil {
		return false
	}
	if _, err := led.Replay(ctx); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, journalLimit)
	defer cancel()
	clean := false
	for e, err := range s.told(ctx, sub.job.Job) {
		if err != nil {
			return false
		}
		if e.Event == journal.Summary && e.TrustedUser(uint32(s.uid)) && knowsEnd(e) {
			clean = e.Counts[journal.Owed] == 0
		}
	}
	return clean
}

// knowsEnd reports whether a summary's sender was told how the job ended.
func knowsEnd(e journal.Entry) bool {
	return !slices.Contains([]string{"", outcome.Lost, outcome.Unknown}, e.Outcome.Result)
}

// told is what a job's records say of its end: the last summary that knew it.
// Without one the job is lost, if the journal reaches back to its beginning.
func told(records iter.Seq2[journal.Entry, error], trusted func(journal.Entry) bool) (ending outcome.Outcome, sure bool) {
	ending = outcome.Outcome{Result: outcome.Lost}
	for e, err := range records {
		if err != nil {
			return ending, false
		}
		if !trusted(e) {
			continue
		}
		switch {
		case e.Event == journal.Armed:
			sure = true
		case e.Event == journal.Summary && knowsEnd(e):
			ending, sure = e.Outcome, true
		}
	}
	return ending, sure
}

// holdConditional takes out the items that depend on how the job ended, and
// says why they stay.
func (r *recorder) holdConditional(items []engine.Item, sum *engine.Summary) []engine.Item {
	var kept, held []engine.Item
	for _, item := range items {
		if len(item.Spec.When) == 0 || slices.Contains(item.Spec.When, "always") {
			kept = append(kept, item)
		} else {
			held = append(held, item)
		}
	}
	sum.Merge(r.leave(held, residue.Errorf(residue.Retry, residue.Other,
		"neither the ledger nor the journal tells how the job ended, and When= depends on it")))
	return kept
}
