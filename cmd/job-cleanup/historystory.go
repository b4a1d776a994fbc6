package main

import (
	"slices"
	"time"

	"job-cleanup/pkg/journal"
	"job-cleanup/pkg/outcome"
)

// A story is what the journal tells, job by job. A job that owes something is
// followed on to the pass that ended it. Of a long story the oldest jobs are
// let go: they stay in the counts, and what they owe stays known.
type story struct {
	wanted   func(*pastJob) bool
	most     int // jobs that are kept
	accounts map[jobKey]*pastAccount
	jobs     []*pastJob  // by their first record, nil where one was let go
	oldest   int         // where in jobs the next to let go stands
	gone     []*pastJob  // let go, in debt then
	goneRuns tallyOfRuns // of all that were let go
	hosts    []string
	last     time.Time
}

type jobKey struct{ unit, invocation string }

// pastAccount holds what one invocation owes. All that was done by hand for a unit
// has one account, and is a job each time.
type pastAccount struct {
	job  *pastJob
	open openDebts
	pass int // number of the one that goes on
}

// pastJob is a job that is over, and each cleanup of it.
type pastJob struct {
	unit, invocation string
	outcome          outcome.Outcome
	armed            time.Time // zero when it was not
	passes           []pastPass
	residues         []pastResidue
	more             map[journal.Event]int // residues that have no place above, by status
	unfollowed       int                   // debts that have no place below
	notes            []string              // what else was wrong
	debts            []*pastDebt           // all it ever owed
	knows            bool                  // its outcome is the manager's word
	first, last      time.Time             // records of its cleanups
}

// pastPass is one cleanup: of the hook, of a handler, a sweep, a person.
type pastPass struct {
	end    time.Time
	took   time.Duration
	counts map[journal.Event]int
	by     string // the unit it ran in, if that is not the job's
	cut    bool   // it has no summary
}

// pastResidue is what became of one residue, or of a step as a whole.
type pastResidue struct {
	status                    journal.Event
	kind, ref, reason, detail string
	attempt, count            int
	took                      time.Duration
	debt                      *pastDebt // set if it was owed for a while
}

func newStory(most int, wanted func(*pastJob) bool) *story {
	return &story{most: most, wanted: wanted, accounts: map[jobKey]*pastAccount{}}
}

// residueEvents are those that say what became of residue.
var residueEvents = []journal.Event{journal.Removed, journal.Absent, journal.Owed, journal.Refused,
	journal.Skipped, journal.LostOwnership, journal.NotRevocable}

// storyEvents are the events that a story is made of.
var storyEvents = append([]journal.Event{journal.Summary, journal.Armed, journal.Forgotten,
	journal.Unrecorded, journal.LedgerDamaged, journal.Problem}, residueEvents...)

// add takes the next record, in the journal's order.
func (s *story) add(e journal.Entry) {
	if !slices.Contains(storyEvents, e.Event) || e.Unit == "" || e.Time.IsZero() {
		return
	}
	if host := e.Fields["_HOSTNAME"]; len(host) == 1 && len(s.hosts) < 3 && !slices.Contains(s.hosts, host[0]) {
		s.hosts = append(s.hosts, host[0])
	}
	s.last = e.Time
	key := jobKey{e.Unit, e.Invocation}
	acc := s.accounts[key]
	if acc == nil {
		acc = &pastAccount{open: newOpenDebts()}
		s.accounts[key] = acc
	}
	if e.Event == journal.Forgotten {
		acc.close(e)
		return
	}
	if acc.job == nil || e.Invocation == byHand && acc.job.told() {
		acc.job = &pastJob{unit: e.Unit, invocation: e.Invocation}
		s.keep(acc.job)
	}
	acc.record(e)
}

// record adds one record to the account's job.
func (a *pastAccount) record(e journal.Entry) {
	j := a.job
	switch e.Event {
	case journal.Armed:
		if j.armed.IsZero() {
			j.armed = e.Time
		}
		return
	case journal.Unrecorded, journal.LedgerDamaged, journal.Problem:
		if text := journal.Text(e.Record); len(j.notes) < notesKept && !slices.Contains(j.notes, text) {
			j.notes = append(j.notes, text)
		}
	case journal.Summary:
		j.summary(e)
	default:
		a.residue(e)
	}
	if !j.knows {
		j.outcome, j.knows = e.Outcome, knowsEnd(e)
	}
	if j.first.IsZero() {
		j.first = e.Time
	}
	j.last = e.Time
}

// summary ends a pass.
func (j *pastJob) summary(e journal.Entry) {
	pass := pastPass{end: e.Time, took: e.Duration, counts: e.Counts}
	if by := e.Fields["_SYSTEMD_UNIT"]; len(by) == 1 && by[0] != e.Unit {
		pass.by = by[0]
	}
	if j.told() || len(j.passes) == 0 {
		j.passes = append(j.passes, pass)
		return
	}
	j.passes[len(j.passes)-1] = pass
}

// told reports whether the last pass has its summary.
func (j *pastJob) told() bool { return len(j.passes) > 0 && !j.passes[len(j.passes)-1].cut }

// keep makes room for one more job.
func (s *story) keep(j *pastJob) {
	s.jobs = append(s.jobs, j)
	if len(s.jobs)-s.oldest <= s.most {
		return
	}
	old := s.jobs[s.oldest]
	s.jobs[s.oldest] = nil
	s.oldest++
	key := jobKey{old.unit, old.invocation}
	inDebt := slices.ContainsFunc(old.debts, (*pastDebt).isOpen)
	if old.isRun() && s.wanted(old) {
		s.goneRuns.count(old)
		if inDebt {
			s.gone = append(s.gone, old)
		}
	}
	if acc := s.accounts[key]; !inDebt && acc != nil && acc.job == old {
		delete(s.accounts, key)
	}
}

// isRun reports whether the job has had a cleanup.
func (j *pastJob) isRun() bool { return len(j.passes) > 0 }

// runs are the jobs that are asked for and kept, by the end of their cleanups.
func (s *story) runs() []*pastJob {
	var runs []*pastJob
	for _, j := range s.jobs[s.oldest:] {
		if j.isRun() && s.wanted(j) {
			runs = append(runs, j)
		}
	}
	slices.SortStableFunc(runs, func(a, b *pastJob) int { return a.passes[0].end.Compare(b.passes[0].end) })
	return runs
}
