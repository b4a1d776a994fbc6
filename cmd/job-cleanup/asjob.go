package main

import (
	"context"
	"errors"
	"time"

	"job-cleanup/pkg/clean/command"
	"job-cleanup/pkg/engine"
	"job-cleanup/pkg/journal"
	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/outcome"
	"job-cleanup/pkg/residue"
)

// A process with the job's rights does what the job itself asked for: what its
// environment names, and what it tracked. Root starts it with nothing but the
// job's uid and gid, and believes of its answers only what concerns that job.

// order is what the process is told, by gob on its standard input: names of
// files are any bytes, which JSON would not keep.
type order struct {
	Job     ledger.Job
	Outside bool
	Homes   []string
	Outcome outcome.Outcome
	Env     environment // nil when it is not the job's
	Items   []engine.Item
	State   string
	Runtime string // where its stash is
	Total   time.Duration
	DryRun  bool
	// RunsAgain says that the unit is in another invocation by now.
	RunsAgain bool
	Survivors bool        // processes of the job still run
	Alone     bool        // leave what the job tracked
	List      bool        // only tell what the job's ledgers of this unit owe
	Sweep     *sweepOrder // look for what jobs that are over owe
}

// answer is what it reports, one JSON object a line: its job may have got hold
// of it, and gob is not made for hostile input.
type answer struct {
	Event  *engine.Event   `json:"event,omitempty"`
	Record *journal.Record `json:"record,omitempty"` // what a command printed, a ledger that is damaged
	Err    string          `json:"err,omitempty"`    // of the event
	Refs   [][]byte        `json:"refs,omitempty"`   // the references in the event, byte by byte
	Debt   *debtLine       `json:"debt,omitempty"`   // of a List
	Found  *found          `json:"found,omitempty"`  // of a sweep that only looks
	Dead   []string        `json:"dead,omitempty"`   // servers that did not answer

	Invocation string `json:"invocation,omitempty"` // that the event is about, if not the order's
}

// maxAnswer bounds one line of the process, maxAnswers all of them together.
const (
	maxAnswer  = 8 << 20
	maxAnswers = 32 << 20
)

// self is this program, whatever became of its file.
const self = "/proc/self/exe"

// maxDebts bounds what a job can make status print, maxDead the servers that it
// calls dead.
const (
	maxDebts = 10000
	maxDead  = 1000
)

// things are the residues in an event, in the order of Refs.
func things(ev *engine.Event) []*residue.Residue {
	var all []*residue.Residue
	if ev.Residue != nil {
		all = append(all, ev.Residue)
	}
	for i := range ev.Residues {
		all = append(all, &ev.Residues[i])
	}
	return all
}

// sent makes the answer of an event.
func sent(ev engine.Event) answer {
	a := answer{Event: &ev}
	if ev.Err != nil {
		a.Err, ev.Err = ev.Err.Error(), nil
	}
	for _, r := range things(&ev) {
		a.Refs = append(a.Refs, []byte(r.Ref))
	}
	return a
}

// received undoes sent.
func (a answer) received() engine.Event {
	ev := *a.Event
	if a.Err != "" {
		ev.Err = errors.New(a.Err)
	}
	for i, r := range things(&ev) {
		if i < len(a.Refs) {
			r.Ref = string(a.Refs[i])
		}
	}
	return ev
}

// asJob has the job's own rights used for the lent items and for what the job
// tracked.
func (s *site) asJob(ctx context.Context, drain <-chan struct{}, sub *subject, lent []engine.Item, rec *recorder, total time.Duration) engine.Summary {
	if !sub.knowsUser() {
		return rec.leave(lent, residue.Errorf(residue.Retry, residue.Permission, "nobody can tell whose environment this step names"))
	}
	w := &jobProcess{exe: self, order: order{
		Job: sub.job, Outside: sub.job.Outside, Homes: sub.job.Homes, Outcome: sub.outcome,
		Items: lent, State: s.shared, Runtime: s.runtime, Total: total, DryRun: s.opts.dry,
		Alone:     sub.later,
		RunsAgain: s.runsAgain(sub), Survivors: rec.survivors.any(),
	}, lent: map[string]engine.Item{}, open: map[string]bool{}, rec: rec}
	if sub.env { // any other one is not the job's to read
		w.order.Env = s.env
	}
	for _, item := range lent {
		w.lent[item.Spec.ID], w.open[item.Spec.ID] = item, true
	}
	if err := w.run(ctx, drain, *sub.job.User); err != nil {
		why := residue.Errorf(residue.Retry, residue.Permission, "act as uid %d: %w", sub.job.User.UID, err)
		w.sum.Merge(rec.leave(w.unanswered(), why))
		if len(lent) == 0 {
			w.unlooked(why)
		}
	}
	return w.sum
}

// unanswered are the items that were lent and not answered for.
func (j *jobProcess) unanswered() []engine.Item {
	var all []engine.Item
	for id := range j.open {
		all = append(all, j.lent[id])
	}
	return all
}

// unlooked tells that nobody looked at what the job tracked. That stands in the
// job's own ledger; root's takes no part in it.
func (j *jobProcess) unlooked(why *residue.Error) {
	ev := engine.Event{Spec: residue.Spec{Name: "tracked", Value: "what the job tracked"}, Status: engine.Owed, Reason: why.Reason, Err: why.Err}
	if rec, ok := journalRecord(j.rec.job, ev); ok {
		j.rec.send(rec)
	}
	j.sum.Add(ev)
}

// lostRights takes out commands when nobody can tell whose rights they had.
func (r *recorder) lostRights(sub *subject, items []engine.Item, sum *engine.Summary) []engine.Item {
	if sub.knowsUser() || sub.job.User != nil && sub.job.FullRights {
		return items
	}
	var kept, left []engine.Item
	for _, item := range items {
		if item.Spec.Kind == command.Kind.Name {
			left = append(left, item)
		} else {
			kept = append(kept, item)
		}
	}
	sum.Merge(r.leave(left, residue.Errorf(residue.Retry, residue.Permission, "nobody can tell whose rights this command had")))
	return kept
}

// knowsUser reports whether somebody can be the job's user: a dynamic one's
// number may be another unit's as soon as the hook is over.
func (sub *subject) knowsUser() bool {
	user, live := sub.job.User, sub.live
	if user == nil || !user.Dynamic || sub.hook {
		return user != nil
	}
	return live != nil && live.UID != nil && *live.UID == user.UID
}

// leave reports items as owed that nobody could try. It counts as a try, so
// that it is not told again at every opportunity.
func (r *recorder) leave(items []engine.Item, why *residue.Error) engine.Summary {
	var sum engine.Summary
	owed := func(item engine.Item, of *residue.Residue) {
		ev := engine.Event{Spec: item.Spec, Residue: of, Status: engine.Owed, Reason: why.Reason, Err: why.Err}
		ev.Attempt = item.Attempts[ev.ID()] + 1
		r.Record(ev)
		sum.Add(ev)
	}
	for _, item := range items {
		if !item.Resolved {
			owed(item, nil)
		}
		for i := range item.Found {
			owed(item, &item.Found[i])
		}
	}
	return sum
}
