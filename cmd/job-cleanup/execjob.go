package main

import (
	"cmp"
	"context"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"

	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/outcome"
	"job-cleanup/pkg/residue"
)

// execUnit is the unit of a job of exec that was given none.
const execUnit = "exec"

// The variables by which track, called from inside a job of exec, finds it.
const (
	varUnit       = "JOB_CLEANUP_UNIT"
	varInvocation = "JOB_CLEANUP_INVOCATION"
	varHolder     = "JOB_CLEANUP_EXEC_PID"
	varStateDir   = "JOB_CLEANUP_STATE_DIR"
)

// execJob is the job that an exec runs.
type execJob struct {
	*site
	sub *subject
}

// execJob makes a job of its own, with an invocation id that nobody else has.
// It runs as the caller does, whatever the User= of a unit that was named.
func (s *site) execJob(ctx context.Context) (*execJob, error) {
	holder, err := ledger.Self()
	if err != nil {
		return nil, err
	}
	invocation := randomID()
	s.env = maps.Clone(s.env)
	for _, name := range []string{"SERVICE_RESULT", "EXIT_CODE", "EXIT_STATUS", "SYSTEMD_EXEC_PID", "MONITOR_UNIT", "MONITOR_INVOCATION_ID"} {
		delete(s.env, name) // they are about another process
	}
	s.env["INVOCATION_ID"] = invocation
	sub, err := s.execSubject(ctx, invocation)
	if err != nil {
		return nil, err
	}
	job := &sub.job
	job.Invocation, job.Witness, job.Holder = invocation, ledger.ByHolder, &holder
	job.User, job.Start = s.callerIdentity(), time.Now()
	job.Sandbox, job.Outside, job.FullRights = nil, false, false
	sub.env, sub.elsewhere = true, map[string]bool{} // nothing to do is nothing to say
	return &execJob{s, sub}, nil
}

// execSubject is what is known of the unit that was named. Without one the job
// belongs to no unit, not even to the one we stand in: that may be a CI
// runner's.
func (s *site) execSubject(ctx context.Context, invocation string) (*subject, error) {
	if s.opts.unit != "" {
		s.opts.invocation = invocation
		return s.subject(ctx, false)
	}
	id, err := outcome.Identify(outcome.Caller{Env: s.env.lookup, PID: s.pid}, outcome.Flags{})
	if err != nil {
		return nil, wrongUnit(err)
	}
	sub := &subject{}
	sub.job.Unit, sub.job.CI = cmp.Or(id.CI, execUnit), id.CI != ""
	s.describe(sub)
	return sub, nil
}

// record writes down before the command runs what will have to go, so that it
// also goes when nobody lives to see the end. An error is a plan that can't be
// read: the cleanup could not either.
func (j *execJob) record(ctx context.Context) error {
	led, err := j.ledgerOf(j.sub.job.Job)
	rec := newRecorder(led, j.onlyJournal(), j.sub.job.Job)
	if err != nil {
		rec.missing(err)
	}
	compiled, err := j.compile(j.sub, false)
	if err != nil {
		return err
	}
	if err := compiled.Filter(kinds(), j.opts.skip, j.opts.only); err != nil {
		return usagef("say a step's name or a kind", "%v", err)
	}
	records := j.armedRecords(ctx, j.sub, compiled, rec)
	for _, r := range records {
		if r.Job != nil {
			j.sub.job = *r.Job
		}
	}
	rec.book.add(records...)
	if rec.lacking.Load() {
		j.warn("--state-dir DIR names a folder that can be written to", "unrecorded: should this be cut off, nobody will know what is owed")
	}
	return nil
}

// variables is the environment of the command: ours, and what tells it which
// job it is.
func (j *execJob) variables() []string {
	env := maps.Clone(j.env)
	env[varUnit], env[varInvocation] = j.sub.job.Unit, j.sub.job.Invocation
	env[varHolder] = strconv.Itoa(j.pid)
	delete(env, varStateDir)
	if j.opts.stateDir != "" {
		env[varStateDir] = absolute(j.opts.stateDir)
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		all = append(all, name+"="+env[name])
	}
	return all
}

// insideExec finds the job of the exec that the caller runs below, nil when it
// runs below none: the variables alone are no proof, since who can write a
// unit's environment file could name somebody else's job. An exec is the
// ancestor of all processes of its job, orphans too.
func (p *program) insideExec(o *options) *residue.Job {
	holder, err := strconv.Atoi(p.env[varHolder])
	if err != nil || o.unit != "" || o.invocation != "" || p.env[varInvocation] == "" || !descends(holder) {
		return nil
	}
	o.stateDir = cmp.Or(o.stateDir, p.env[varStateDir])
	return &residue.Job{Unit: p.env[varUnit], Invocation: outcome.FileName(p.env[varInvocation])}
}

// adoptExec lets the subject be the job of an exec, as that recorded it.
func (s *site) adoptExec(ctx context.Context, sub *subject, job *residue.Job) error {
	if job == nil {
		return nil
	}
	led, err := s.ledgerOf(*job)
	if err != nil {
		return err
	}
	state, err := led.Replay(ctx)
	if err != nil {
		return usagef("track with the rights that exec has, and with its --state-dir", "the job of exec can't be read: %v", err)
	}
	sub.job, sub.identity.Invocation = state.Job, state.Job.Invocation
	return nil
}

// descends reports whether a process that runs this program is an ancestor of
// ours.
func descends(ancestor int) bool {
	ours, err := os.Stat(self)
	if err != nil {
		return false
	}
	theirs, err := os.Stat("/proc/" + strconv.Itoa(ancestor) + "/exe")
	if err != nil || !os.SameFile(ours, theirs) {
		return false
	}
	for pid := os.Getppid(); pid > 0; pid = parentOf(pid) {
		if pid == ancestor {
			return true
		}
	}
	return false
}
