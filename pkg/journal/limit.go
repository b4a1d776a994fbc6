package journal

import (
	"errors"
	"sync"
)

// Limit passes records on to next, but of each job only the first most ones
// that say "removed" and the first most that say "absent". The rest are
// counted, and told in one record before the job's summary. What is owed,
// refused or lost is always passed on.
func Limit(next Sender, most int) Sender {
	return &limiter{next: next, most: most, seen: map[job]map[Event]int{}}
}

// job names the job that a record is about.
type job struct{ unit, invocation string }

type limiter struct {
	next Sender
	most int
	mu   sync.Mutex
	seen map[job]map[Event]int
}

// Send passes the record on or counts it. A summary is preceded by the counts.
func (l *limiter) Send(r Record) error {
	var counts error
	switch r.Event {
	case Removed, Absent:
		if l.count(r) > l.most {
			return nil
		}
	case Summary:
		counts = l.sendCounts(r)
	}
	return errors.Join(counts, l.next.Send(r))
}

// count returns how many records of this event the job has had, this one
// included.
func (l *limiter) count(r Record) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := job{r.Unit, r.Invocation}
	if l.seen[of] == nil {
		l.seen[of] = map[Event]int{}
	}
	l.seen[of][r.Event] += max(r.Count, 1)
	return l.seen[of][r.Event]
}

// sendCounts sends what was held back of the summary's job, and forgets it.
func (l *limiter) sendCounts(summary Record) error {
	l.mu.Lock()
	of := job{summary.Unit, summary.Invocation}
	seen := l.seen[of]
	delete(l.seen, of)
	l.mu.Unlock()
	var all error
	for _, event := range []Event{Removed, Absent} {
		if held := seen[event] - l.most; held > 0 {
			r := Record{Event: event, Unit: of.unit, Invocation: of.invocation, Count: held}
			all = errors.Join(all, l.next.Send(r))
		}
	}
	return all
}
