package main

import (
	"time"

	"job-cleanup/pkg/journal"
	"job-cleanup/pkg/outcome"
)

// endingClass groups the manager's words for how a job ended. Each has a mark
// of its own on the page.
type endingClass string

const (
	endWell    endingClass = "well"
	endFailed  endingClass = "failed"
	endKilled  endingClass = "killed"
	endTimeout endingClass = "timeout"
	endLost    endingClass = "lost"
	endUntold  endingClass = "untold" // cleaned by hand, nobody told
	endOther   endingClass = "other"
)

// endingClasses are all of them, as the legend has them.
var endingClasses = []struct {
	class endingClass
	text  string
}{
	{endWell, "success"}, {endFailed, "failed"}, {endKilled, "killed"}, {endTimeout, "timeout"},
	{endLost, "lost"}, {endOther, "other"}, {endUntold, "not told"},
}

func classOf(o outcome.Outcome) endingClass {
	switch o.Result {
	case outcome.Success:
		return endWell
	case "exit-code", "failure", "failed":
		return endFailed
	case "signal", "core-dump", "oom-kill":
		return endKilled
	case "timeout", "watchdog":
		return endTimeout
	case outcome.Lost:
		return endLost
	case outcome.Unknown, "", outcome.ExecCondition:
		return endUntold
	}
	return endOther
}

func (c endingClass) bad() bool { return c != endWell && c != endUntold }

// tallyOfRuns counts jobs by how they ended, and what became of their residue.
type tallyOfRuns struct {
	runs, refused int
	byClass       map[endingClass]int
	removed       int
	settled       int // things that were owed and done later
	slowest       time.Duration
}

func (t *tallyOfRuns) count(j *pastJob) {
	if t.byClass == nil {
		t.byClass = map[endingClass]int{}
	}
	t.runs++
	t.byClass[classOf(j.outcome)]++
	t.removed += j.total(journal.Removed)
	t.refused += j.total(journal.Refused)
	for _, d := range j.debts {
		if d.isDone() {
			t.settled++
			t.slowest = max(t.slowest, d.until.Sub(d.since))
		}
	}
}

// bad is how many ended badly.
func (t tallyOfRuns) bad() int {
	n := 0
	for class, count := range t.byClass {
		if class.bad() {
			n += count
		}
	}
	return n
}

// total adds up one status over all cleanups of the job.
func (j *pastJob) total(status journal.Event) int {
	n := 0
	for _, pass := range j.passes {
		n += max(min(pass.counts[status], maxCount), 0)
	}
	return n
}

// maxCount bounds a number that a job may have made up.
const maxCount = 1_000_000_000

// owes is how much the job owes at the end of the journal, and how much it
// ever did. Where there are no records of the residues the summaries say so.
func (j *pastJob) owes() (open, ever int) {
	ever = len(j.debts) + j.unfollowed
	for _, d := range j.debts {
		if d.isOpen() {
			open++
		}
	}
	if len(j.debts) == 0 || j.unfollowed > 0 {
		for _, pass := range j.passes {
			ever = max(ever, min(pass.counts[journal.Owed], maxCount))
		}
		open = max(open, min(j.passes[len(j.passes)-1].counts[journal.Owed], maxCount))
	}
	return open, ever
}

// owedFrom is when the first of what the job owed was, and until when the last;
// without records of the residues the passes tell.
func (j *pastJob) owedFrom() (since, until time.Time) {
	for _, d := range j.debts {
		if since.IsZero() || d.since.Before(since) {
			since = d.since
		}
		if d.until.After(until) {
			until = d.until
		}
	}
	for _, pass := range j.passes {
		if len(j.debts) > 0 {
			break
		}
		if pass.counts[journal.Owed] > 0 && since.IsZero() {
			since = pass.end
		}
		until = pass.end
	}
	return since, until
}
