package engine

import (
	"time"

	"job-cleanup/pkg/residue"
)

// Status is what became of a residue, as it stands in the journal.
type Status string

// The statuses. Two are no end of anything that people are told of: Found comes
// before the removal, or instead of it in a dry run; Replaced is what was
// removed, but made again at once, and what became of that is told.
const (
	Found         Status = "found"
	Replaced      Status = "replaced"
	Removed       Status = "removed"
	Absent        Status = "absent"
	Owed          Status = "owed"
	Refused       Status = "refused"
	Skipped       Status = "skipped"
	LostOwnership Status = "lost-ownership"
	NotRevocable  Status = "not-revocable"
)

// Known reports whether it is one of the statuses above.
func (s Status) Known() bool {
	switch s {
	case Found, Replaced, Removed, Absent, Owed, Refused, Skipped, LostOwnership, NotRevocable:
		return true
	}
	return false
}

// Ends reports whether it is the end of one thing that was to be cleaned.
func (s Status) Ends() bool { return s != Found && s != Replaced }

// Event is one step of a cleanup.
type Event struct {
	Spec     residue.Spec
	Residue  *residue.Residue  // nil when the event is about the spec as a whole
	Residues []residue.Residue // of a Found before the removal: all that is owed of the spec
	Complete bool              // of the same: Find succeeded, the spec owes nothing else
	Status   Status
	Reason   residue.Reason
	Err      error
	Until    time.Time     // of NotRevocable: when it ends by itself
	Duration time.Duration // of the call
	Attempt  int           // 1 for the first; 0 when nothing was tried in vain. One try of a dead server counts for all that is on it
}

// ID names what the event is about: the residue's id, or the spec's.
func (ev Event) ID() string {
	if ev.Residue != nil {
		return ev.Residue.ID
	}
	return ev.Spec.ID
}

// Deferred reports whether the removal was put off as the step asks.
func (ev Event) Deferred() bool { return ev.Status == Owed && ev.Reason == residue.Deferred }

// Ref names it for people.
func (ev Event) Ref() string {
	if ev.Residue != nil {
		return ev.Residue.Ref
	}
	return ev.Spec.Value
}

// Recorder is told every step before the next one is taken. It may be called
// from several goroutines at once. What it can't write it deals with itself:
// the cleanup goes on.
type Recorder interface{ Record(Event) }

// Watcher is a Recorder that is also told when a call begins, a find for a nil
// residue, else the removal of that residue; and by the function that it
// returns, when the call is over.
type Watcher interface {
	Begin(residue.Spec, *residue.Residue) (over func())
}

// begin tells a Recorder that wants to know.
func (e *Engine) begin(spec residue.Spec, r *residue.Residue) (over func()) {
	if w, ok := e.Recorder.(Watcher); ok {
		return w.Begin(spec, r)
	}
	return func() {}
}

// Summary counts the ends of one cleanup.
type Summary struct {
	Count map[Status]int
	// Deferred is how many of those owed were put off as their step asks.
	Deferred int
	// First is the first other thing owed or refused, for the one line that
	// people read; nil when there is none.
	First *Event
}

// Clean reports whether nothing is left, neither owed nor refused, but what was
// put off as its step asks.
func (s Summary) Clean() bool { return s.Count[Owed] == s.Deferred && s.Count[Refused] == 0 }

// Add counts one more end.
func (s *Summary) Add(ev Event) {
	if s.Count == nil {
		s.Count = map[Status]int{}
	}
	s.Count[ev.Status]++
	if ev.Deferred() {
		s.Deferred++
	} else if s.First == nil && (ev.Status == Owed || ev.Status == Refused) {
		s.First = &ev
	}
}

// Merge adds the counts of another cleanup.
func (s *Summary) Merge(o Summary) {
	if s.Count == nil {
		s.Count = map[Status]int{}
	}
	for status, n := range o.Count {
		s.Count[status] += n
	}
	s.Deferred += o.Deferred
	if s.First == nil {
		s.First = o.First
	}
}

// report counts an end and has it recorded.
func (e *Engine) report(ev Event) {
	e.Recorder.Record(ev)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.summary.Add(ev)
}

// fail reports what an error means for a residue, or for the spec if r is nil.
func (e *Engine) fail(item Item, r *residue.Residue, err error, took time.Duration) {
	cause := residue.AsError(err)
	ev := Event{Spec: item.Spec, Residue: r, Reason: cause.Reason, Err: cause.Err, Duration: took}
	switch cause.Class {
	case residue.Gone:
		ev.Status, ev.Reason = Absent, ""
	case residue.Lost:
		ev.Status = LostOwnership
	case residue.Refused:
		ev.Status = Refused
	case residue.Until:
		ev.Status, ev.Until = NotRevocable, cause.Until
	default:
		ev.Status = Owed
	}
	if cause.Reason == abandoned {
		ev.Reason = residue.Deadline
	}
	tried := !neverTried(cause) || cause.Class == residue.Unreachable
	if tried && !ev.Deferred() { // what was put off is due at once
		ev.Attempt = item.Attempts[ev.ID()] + 1
	}
	e.report(ev)
}
