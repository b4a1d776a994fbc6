package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"job-cleanup/pkg/engine"
	"job-cleanup/pkg/journal"
	"job-cleanup/pkg/outcome"
	"job-cleanup/pkg/residue"
)

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
	// A process that a dead file server holds can't even be killed.
	stop := context.AfterFunc(ctx, func() { _ = out.SetReadDeadline(time.Now().Add(time.Second)) })
	defer stop()
	done := make(chan struct{})
	go forward(cmd.Process, drain, done)
	if !j.take(io.LimitReader(out, maxAnswers)) {
		cancel() // nothing that it says is worth waiting for
	}
	_ = out.Close()
	err = await(ctx, ended)
	close(done)
	if err == nil && len(j.open) > 0 {
		return errors.New("it ended without an answer")
	}
	return err
}

// await takes the answer, or does without it soon after the context ended.
func await(ctx context.Context, ended <-chan error) error {
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	late := time.NewTimer(2 * time.Second)
	defer late.Stop()
	select {
	case err := <-ended:
		return err
	case <-late.C:
		return fmt.Errorf("it can't be ended: %w", ctx.Err())
	}
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
	if !ev.Status.Ends() {
		return
	}
	delete(j.open, ev.Spec.ID)
	j.sum.Add(ev)
}
