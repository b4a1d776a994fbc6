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
	List    bool // only tell what the job's ledgers of this unit owe
}

// answer is what it reports, one JSON object a line: its job may have got hold
// of it, and gob is not made for hostile input.
type answer struct {
	Event  *engine.Event   `json:"event,omitempty"`
	Record *journal.Record `json:"record,omitempty"` // what a command printed, a ledger that is damaged
	Err    string          `json:"err,omitempty"`    // of the event
	Refs   [][]byte        `json:"refs,omitempty"`   // the references in the event, byte by byte
	Debt   *debtLine       `json:"debt,omitempty"`   // of a List
}

// maxAnswer bounds one line of the process, maxAnswers all of them together.
const (
	maxAnswer  = 8 << 20
	maxAnswers = 32 << 20
)

// self is this program, whatever became of its file.
const self = "/proc/self/exe"

// maxDebts bounds what a job can make status print.
const maxDebts = 10000

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
	}, lent: map[string]engine.Item{}, open: map[string]bool{}, rec: rec}
	if sub.env { // any other one is not the job's to read
		w.order.Env = s.env
	}
	for _, item := range lent {
		w.lent[item.Spec.ID], w.open[item.Spec.ID] = item, true
	}
	if err := w.run(ctx, drain, *sub.job.User); err != nil {
		w.sum.Merge(rec.leave(w.unanswered(), residue.Errorf(residue.Retry, residue.Permission, "act as uid %d: %w", sub.job.User.UID, err)))
	}
	return w.sum
}

// unanswered are the items that were lent and not answered for. Where none was,
// what the job tracked stands for all that nobody looked at.
func (j *jobProcess) unanswered() []engine.Item {
	if len(j.lent) == 0 {
		return []engine.Item{{Spec: residue.Spec{Name: "tracked", Kind: "tracked", Value: "what the job tracked"}}}
	}
	var all []engine.Item
	for id := range j.open {
		all = append(all, j.lent[id])
	}
	return all
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

// leave reports items as owed that nobody could try.
func (r *recorder) leave(items []engine.Item, why *residue.Error) engine.Summary {
	var sum engine.Summary
	for _, item := range items {
		ev := engine.Event{Spec: item.Spec, Status: engine.Owed, Reason: why.Reason, Err: why.Err}
		r.Record(ev)
		sum.Add(ev)
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
			j.event(a.received())
		case a.Record != nil && j.rec != nil:
			j.said(*a.Record)
		case a.Debt != nil && len(j.debts) < maxDebts:
			a.Debt.Unit = j.order.Job.Unit // whatever it says
			j.debts = append(j.debts, *a.Debt)
		}
	}
	return lines.Err() == nil
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
