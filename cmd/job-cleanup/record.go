package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"job-cleanup/pkg/engine"
	"job-cleanup/pkg/journal"
	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/plan"
	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
)

// recorder writes each step of a cleanup to the ledger, then to the journal.
type recorder struct {
	book       book
	journal    journal.Sender
	job        residue.Job
	survivors  survivors     // processes of the job that may make things again
	stash      *secret.Stash // of the job's secrets; nil when there is none to be emptied
	unrecorded sync.Once
	lacking    atomic.Bool // something could not be written to the ledger
	progress   *progress   // nil where nobody is told
}

var (
	_ engine.Recorder = (*recorder)(nil)
	_ engine.Watcher  = (*recorder)(nil)
)

// newRecorder makes the recorder of one job; without a ledger it tells the
// journal only.
func newRecorder(led *ledger.Ledger, out journal.Sender, job residue.Job) *recorder {
	r := &recorder{journal: out, job: job}
	r.book = book{ledger: led, failed: r.missing}
	return r
}

// Record implements engine.Recorder. A step that can't be written to the
// ledger is told once, as a warning: the cleanup goes on.
func (r *recorder) Record(ev engine.Event) {
	r.progress.record(ev)
	r.note(ev)
	if rec, ok := journalRecord(r.job, ev); ok {
		r.send(rec)
	}
}

// Begin implements engine.Watcher.
func (r *recorder) Begin(spec residue.Spec, of *residue.Residue) func() {
	return r.progress.begin(engine.Event{Spec: spec, Residue: of})
}

// note writes an event to the ledger.
func (r *recorder) note(ev engine.Event) {
	switch {
	case ev.Status != engine.Found:
		r.book.end(endRecord(ev))
	case len(ev.Residues) > 0:
		r.book.add(foundRecords(ev)...)
	}
}

// missing tells once that the ledger can't be written.
func (r *recorder) missing(err error) {
	r.lacking.Store(true)
	r.unrecorded.Do(func() {
		text := fmt.Sprintf("unrecorded: what %s owes can't be written down: %v", r.job.Unit, err)
		if errors.Is(err, syscall.EROFS) {
			text += fmt.Sprintf(" (hint: ReadWritePaths=-%s -%s in the unit)", systemState, systemRuntime)
		}
		r.send(journal.Record{Event: journal.Unrecorded, Reason: string(residue.Unrecorded), Detail: err.Error(), Message: text})
	})
}

// keeps reports whether what is found is on the disk before it is touched.
func (r *recorder) keeps() bool { return r.book.ledger != nil && !r.lacking.Load() }

// duringJob are the events that come before there is an outcome.
var duringJob = []journal.Event{journal.Armed, journal.Tracked, journal.Forgotten}

// send completes a record with the job's identity. A journal that does not
// take it has no other place to go to.
func (r *recorder) send(rec journal.Record) {
	rec.Unit, rec.Invocation = r.job.Unit, r.job.Invocation
	if !slices.Contains(duringJob, rec.Event) {
		rec.Outcome = r.job.Outcome
	}
	_ = r.journal.Send(rec)
}

// endRecord is what an event other than a find means for the ledger.
func endRecord(ev engine.Event) ledger.Record {
	residueID := ""
	if ev.Residue != nil {
		residueID = ev.Residue.ID
	}
	if ev.Status == engine.Owed || ev.Status == engine.NotRevocable && ev.Until.After(time.Now()) {
		attempt := ledger.Attempt(ev.Spec.ID, residueID, string(ev.Status), ev.Attempt,
			&residue.Error{Reason: ev.Reason, Err: ev.Err})
		attempt.Until, attempt.Next = ev.Until, nextTry(ev)
		return attempt
	}
	return ledger.Closed(ev.Spec.ID, residueID, string(ev.Status), ev.Reason)
}

func foundRecords(ev engine.Event) []ledger.Record {
	var all []ledger.Record
	for _, r := range ev.Residues {
		all = append(all, ledger.Found(ev.Spec.ID, r))
	}
	if ev.Complete {
		all = append(all, ledger.Complete(ev.Spec.ID))
	}
	return all
}

// journalRecord is what an event means for the journal; a find is not told, nor what
// was made again at once.
func journalRecord(job residue.Job, ev engine.Event) (journal.Record, bool) {
	if ev.Status == engine.Found && ev.Residue == nil || ev.Status == engine.Replaced {
		return journal.Record{}, false
	}
	rec := journal.Record{
		Event:    journal.Event(ev.Status),
		Step:     ev.Spec.Name,
		Source:   ev.Spec.Source,
		Kind:     ev.Spec.Kind,
		Ref:      ev.Ref(),
		Reason:   string(ev.Reason),
		Duration: ev.Duration,
		Attempt:  ev.Attempt,
	}
	if kind := kinds().Kind(ev.Spec.Kind); kind != nil {
		sel, _ := kind.Selector(ev.Spec.Selector)
		rec.Done = sel.Done
	}
	if ev.Deferred() {
		rec.Priority = journal.Info
	}
	if ev.Residue != nil {
		rec.Type, rec.ResidueID = ev.Residue.Type, ev.Residue.ID
	}
	switch when := ev.Spec.When; {
	case ev.Err != nil:
		rec.Detail = detail(ev)
	case ev.Status == engine.Skipped && len(when) > 0:
		rec.Detail = fmt.Sprintf("the job ended with %s, the step is for %s", job.Outcome.Result, strings.Join(when, ", "))
	}
	return rec, true
}

// detail is an event's cause without what its reason says already.
func detail(ev engine.Event) string {
	text := strings.TrimPrefix(ev.Err.Error(), string(ev.Reason)+": ")
	text = strings.TrimSuffix(text, ": "+context.Canceled.Error())
	return strings.TrimSuffix(text, ": "+context.DeadlineExceeded.Error())
}

// summary tells how a whole cleanup went.
func (r *recorder) summary(sum engine.Summary, took time.Duration) {
	rec := journal.Record{Event: journal.Summary, Duration: took, Counts: map[journal.Event]int{}}
	for status, n := range sum.Count {
		rec.Counts[journal.Event(status)] = n
	}
	if sum.Deferred > 0 {
		rec.Reason, rec.Priority = string(residue.Deferred), journal.Info
		rec.Detail = fmt.Sprintf("%d deferred to the sweep", sum.Deferred)
	}
	if sum.First != nil {
		rec.Reason = string(sum.First.Reason)
	}
	if !sum.Clean() {
		rec.Priority = journal.Warning
	}
	r.survivors.tell(&rec)
	r.send(rec)
}

// settle removes the ledger when nothing is owed any more, and with it the
// secrets that were kept for that.
func (r *recorder) settle() {
	settled, err := r.book.settle()
	if err != nil {
		r.missing(err)
	}
	if settled.Aside != "" {
		r.send(journal.Record{Event: journal.LedgerDamaged, Ref: settled.Aside})
	}
	if settled.Gone && r.stash != nil {
		_ = r.stash.DropAll() // what is left there is gone with the boot at the latest
	}
}

// refusals tells the steps of a plan that are not taken, and why.
func (r *recorder) refusals(p *plan.Plan) engine.Summary {
	sum := engine.Summary{}
	for _, problem := range p.Problems {
		rec := problemRecord(journal.Refused, problem)
		if problem.Step == "" {
			rec = problemRecord(journal.Problem, problem)
		} else {
			sum.Add(engine.Event{Status: engine.Refused, Reason: problem.Reason, Err: problem})
		}
		r.send(rec)
	}
	for _, skip := range p.Skips {
		sum.Add(engine.Event{Status: engine.Skipped, Reason: skip.Reason})
		r.send(journal.Record{
			Event: journal.Skipped, Step: skip.Step, Source: skip.Source, Kind: skip.Kind,
			Ref: skip.Value, Reason: string(skip.Reason), Detail: skip.Text,
		})
	}
	return sum
}

// problemRecord tells what is wrong in a plan, with its place.
func problemRecord(event journal.Event, p plan.Problem) journal.Record {
	detail := p.Text
	if p.Hint != "" {
		detail = fmt.Sprintf("%s (%s)", p.Text, p.Hint)
	}
	return journal.Record{
		Event: event, Step: p.Step, Source: source(p), Kind: p.Kind, Reason: string(p.Reason), Detail: detail,
		Message: strings.TrimSpace(fmt.Sprintf("%s %s", event, p.Step)) + ": " + source(p) + ": " + detail,
	}
}
