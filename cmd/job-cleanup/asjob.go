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
	Env     environment
	Items   []engine.Item
	State   string
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

// maxAnswer bounds one line of the process.
const maxAnswer = 8 << 20

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
	if sub.job.User == nil {
		return rec.leave(lent, residue.Errorf(residue.Retry, residue.Permission, "nobody can tell whose environment this step names"))
	}
	w := &jobProcess{order: order{
		Job: sub.job, Outside: sub.job.Outside, Homes: sub.job.Homes, Outcome: sub.outcome,
		Env: s.env, Items: lent, State: s.shared, Total: total, DryRun: s.opts.dry,
	}, lent: map[string]engine.Item{}, open: map[string]bool{}, rec: rec}
	for _, item := range lent {
		w.lent[item.Spec.ID], w.open[item.Spec.ID] = item, true
	}
	if err := w.run(ctx, drain, *sub.job.User); err != nil {
		w.sum.Merge(rec.leave(w.unanswered(), residue.Errorf(residue.Retry, residue.Permission, "act as uid %d: %w", sub.job.User.UID, err)))
	}
	return w.sum
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
	order order
	lent  map[string]engine.Item // what it was lent, by spec
	open  map[string]bool        // of these, what it has not answered for
	rec   *recorder
	sum   engine.Summary
	debts []debtLine
}

func (j *jobProcess) unanswered() []engine.Item {
	var all []engine.Item
	for id := range j.open {
		all = append(all, j.lent[id])
	}
	return all
}

// run starts the process and takes its answers until it ends.
func (j *jobProcess) run(ctx context.Context, drain <-chan struct{}, user residue.Identity) error {
	var in bytes.Buffer
	if err := gob.NewEncoder(&in).Encode(j.order); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, j.order.Total+2*engine.Grace)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/proc/self/exe", "child")
	cmd.Args[0] = "job-cleanup"
	cmd.Dir, cmd.Env, cmd.WaitDelay = "/", []string{}, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: user.UID, Gid: user.GID, Groups: []uint32{}},
		Setsid:     true, // no terminal, and no signal that was meant for us
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		_, _ = stdin.Write(in.Bytes())
		_ = stdin.Close()
	}()
	done := make(chan struct{})
	go forward(cmd.Process, drain, done)
	j.take(stdout)
	close(done)
	if err := cmd.Wait(); err != nil {
		return err
	}
	if len(j.open) > 0 {
		return errors.New("it ended without an answer")
	}
	return nil
}

// forward passes the wish to stop on.
func forward(p *os.Process, drain, done <-chan struct{}) {
	select {
	case <-drain:
		_ = p.Signal(syscall.SIGTERM)
	case <-done:
	}
}

// take reads answers. What is too long or no answer ends it: the rest of what
// was lent is then owed.
func (j *jobProcess) take(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(make([]byte, 64<<10), maxAnswer)
	for lines.Scan() {
		var a answer
		if json.Unmarshal(lines.Bytes(), &a) != nil {
			return
		}
		switch {
		case a.Event != nil && j.rec != nil:
			j.event(a.received())
		case a.Record != nil && j.rec != nil:
			j.rec.send(*a.Record)
		case a.Debt != nil && len(j.debts) < maxDebts:
			a.Debt.Unit = j.order.Job.Unit // whatever it says
			j.debts = append(j.debts, *a.Debt)
		}
	}
}

// event records an answer. Root's ledger takes it for specs that were lent; of
// what the job tracked only the journal is told.
func (j *jobProcess) event(ev engine.Event) {
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
