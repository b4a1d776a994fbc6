package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
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
		RunsAgain: s.runsAgain(sub),
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

// jobProcess is the running process, seen from root's side.
type jobProcess struct {
	exe   string
	order order
	lent  map[string]engine.Item // what it was lent, by spec
	open  map[string]bool        // of these, what it has not answered for
	rec   *recorder
	sum   engine.Summary
	debts []debtLine
	found []found
	dead  []string
}

// run starts the process and takes its answers until it ends. Processes of the
// job may stop it, or hold what it writes to open: that costs no more time
// than it was given.
func (j *jobProcess) run(ctx context.Context, drain <-chan struct{}, user residue.Identity) error {
	var in bytes.Buffer
	if err := gob.NewEncoder(&in).Encode(j.order); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, j.order.Total+min(2*engine.Grace, j.order.Total/2))
	defer cancel()
	out, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := exec.CommandContext(ctx, j.exe, "child")
	cmd.Args[0] = "job-cleanup"
	cmd.Dir, cmd.Env, cmd.WaitDelay = "/", []string{}, time.Second
	cmd.Stdin, cmd.Stdout = &in, theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: user.UID, Gid: user.GID, Groups: []uint32{}},
		Setsid:     true, // no terminal, and no signal that was meant for us
	}
	err = cmd.Start()
	_ = theirs.Close()
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		_ = out.SetReadDeadline(time.Now().Add(time.Second)) // for what it wrote last
		ended <- err
	}()
	done := make(chan struct{})
	go forward(cmd.Process, drain, done)
	if !j.take(io.LimitReader(out, maxAnswers)) {
		cancel() // nothing that it says is worth waiting for
	}
	_ = out.Close()
	err = <-ended
	close(done)
	if err == nil && len(j.open) > 0 {
		return errors.New("it ended without an answer")
	}
	return err
}

// forward passes the wish to stop on.
func forward(p *os.Process, drain, done <-chan struct{}) {
	select {
	case <-drain:
		_ = p.Signal(syscall.SIGTERM)
	case <-done:
	}
}

// take reads answers up to their end. What is too long or no answer ends it:
// the rest of what was lent is then owed.
func (j *jobProcess) take(out io.Reader) bool {
	lines := bufio.NewScanner(out)
	lines.Buffer(make([]byte, 64<<10), maxAnswer)
	for lines.Scan() {
		var a answer
		if json.Unmarshal(lines.Bytes(), &a) != nil {
			return false
		}
		switch {
		case a.Event != nil && j.rec != nil:
			if j.order.Sweep != nil {
				j.rec.job.Invocation = safe(a.Invocation)
			}
			j.event(a.received())
		case a.Record != nil && j.rec != nil:
			j.said(*a.Record)
		case a.Found != nil && len(j.found) < maxDebts:
			j.found = append(j.found, *a.Found)
		case len(a.Dead) > 0 && len(a.Dead) <= maxDead:
			j.dead = a.Dead
		case a.Debt != nil && len(j.debts) < maxDebts:
			a.Debt.Unit = j.order.Job.Unit // whatever it says
			j.debts = append(j.debts, *a.Debt)
		}
	}
	return lines.Err() == nil
}

// safe is an invocation if it can be one, "" otherwise.
func safe(invocation string) string {
	if outcome.FileName(invocation) != invocation {
		return ""
	}
	return invocation
}

// said passes on the records that such a process has reason to send, with
// their plain texts and nothing else.
func (j *jobProcess) said(r journal.Record) {
	switch r.Event {
	case journal.CommandOutput, journal.LedgerDamaged, journal.Unrecorded:
	default:
		return
	}
	kept := journal.Record{Event: r.Event, Step: r.Step, Source: r.Source, Kind: r.Kind, Ref: r.Ref, Reason: r.Reason, Detail: r.Detail}
	if r.Event == journal.CommandOutput {
		kept.Message = r.Message
	}
	j.rec.send(kept)
}

// event records an answer. Root's ledger takes it for specs that were lent; of
// what the job tracked only the journal is told.
func (j *jobProcess) event(ev engine.Event) {
	if !ev.Status.Known() {
		return
	}
	item, lent := j.lent[ev.Spec.ID]
	if lent {
		ev.Spec = item.Spec
		j.rec.Record(ev)
	} else if rec, ok := journalRecord(j.order.Job.Job, ev); ok {
		j.rec.send(rec)
	}
	if ev.Status == engine.Found {
		return
	}
	delete(j.open, ev.Spec.ID)
	j.sum.Add(ev)
}
