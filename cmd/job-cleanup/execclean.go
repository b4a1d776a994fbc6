package main

import (
	"context"
	"encoding/gob"
	"fmt"
	"maps"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/outcome"
)

// execOrder is what the cleanup after a command is told, by gob on its standard
// input.
type execOrder struct {
	Job      ledger.Job
	Identity outcome.Identity
	Outcome  outcome.Outcome
	Inside   bool

	Plan, StateDir, RuntimeDir, LogFile, MetricsFile, Timeout string

	Steps, Skip, Only []string
	Force             bool
	Group             int // of processes, that exec is in
}

func cleanerVerb() *verb {
	return &verb{
		name: "cleaner", hidden: true,
		short: "the cleanup after a command of exec",
		long:  "Started by job-cleanup exec itself.",
		run:   runCleaner,
	}
}

// startCleaner starts the cleanup of the job. What it says goes to stderr: the
// other stream is the command's.
func (j *execJob) startCleaner() (int, error) {
	in, out, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer in.Close()
	var env []string
	for _, name := range slices.Sorted(maps.Keys(j.env)) {
		env = append(env, name+"="+j.env[name])
	}
	attr := &syscall.ProcAttr{Env: env, Files: []uintptr{in.Fd(), 2, 2}, Sys: &syscall.SysProcAttr{Setpgid: true}}
	pid, err := syscall.ForkExec(self, []string{"job-cleanup", "cleaner"}, attr)
	if err != nil {
		_ = out.Close()
		return 0, fmt.Errorf("start it: %w", err)
	}
	go func() { // a pipe holds less than a long order
		_ = gob.NewEncoder(out).Encode(j.order()) // who can't read it says so
		_ = out.Close()
	}()
	return pid, nil
}

func (j *execJob) order() execOrder {
	o, sub := j.opts, j.sub
	return execOrder{
		Job: sub.job, Identity: sub.identity, Outcome: sub.outcome, Inside: sub.inside,
		Plan: o.plan, StateDir: o.stateDir, RuntimeDir: o.runtimeDir, LogFile: o.logFile,
		MetricsFile: o.metricsFile, Timeout: o.timeout,
		Steps: o.steps, Skip: o.skip, Only: o.only, Force: o.force,
		Group: unix.Getpgrp(),
	}
}

func runCleaner(ctx context.Context, p *program, _ *options) (int, error) {
	var order execOrder
	if err := gob.NewDecoder(p.stdin).Decode(&order); err != nil {
		return 0, fmt.Errorf("read the order: %w", err)
	}
	o := &options{
		plan: order.Plan, stateDir: order.StateDir, runtimeDir: order.RuntimeDir, logFile: order.LogFile,
		metricsFile: order.MetricsFile, timeout: order.Timeout, steps: order.Steps, skip: order.Skip, only: order.Only, force: order.Force,
	}
	defer p.showProgress(o, order.Group)()
	s := p.site(o)
	defer s.close()
	sub := &subject{
		job: order.Job, identity: order.Identity, outcome: order.Outcome, inside: order.Inside,
		env: true, elsewhere: map[string]bool{},
	}
	sub.job.Outcome, sub.job.Homes = sub.outcome, homes(accounts("/etc/passwd"))
	sub.load(s)
	if sub.identity.Unit != "" && !sub.inside {
		s.ask(ctx, sub) // it may have been started meanwhile
	}
	began := time.Now()
	_, err := s.cleanup(ctx, sub)
	s.settleExec(sub)
	s.metrics(ctx, sub, began)
	return exitDone, err
}

// settleExec removes a ledger in which there was nothing but the job.
func (s *site) settleExec(sub *subject) {
	led, err := s.ledgerOf(sub.job.Job)
	if err != nil {
		return
	}
	rec := newRecorder(led, s.journal, sub.job.Job)
	rec.book.written = true
	rec.settle()
}
