package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"job-cleanup/pkg/journal"
	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/plan"
	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
)

// armLimit bounds all that arm does: a job waits for it.
const armLimit = 10 * time.Second

func armVerb() *verb {
	return &verb{
		name:  "arm",
		short: "before the job: write down what will have to go",
		long: "Records the steps of the plan and what can be known of the unit before the job starts, keeps the secrets " +
			"the cleanup will need, and removes what earlier invocations of the unit still owe here. " +
			"Stands first in ExecStartPre=-+. Never takes longer than ten seconds or a third of TimeoutStartSec=, " +
			"and always exits 0: it never keeps a job from starting.",
		forgive: true,
		options: func(fs *pflag.FlagSet, o *options) {
			whichJob(fs, o)
			whichSteps(fs, o)
			whichFolders(fs, o)
		},
		run: runArm,
	}
}

// runArm does the work aside and returns when its time is over, whatever the
// work still waits for.
func runArm(ctx context.Context, p *program, o *options) (int, error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, armLimit)
	defer cancel()
	ctx, drain, stop := p.stoppable(ctx)
	defer stop()
	done := make(chan error, 1)
	limit := func(span time.Duration) { time.AfterFunc(span-time.Since(began), cancel) }
	go func() { done <- p.arm(ctx, o, limit) }()
	select {
	case err := <-done:
		return exitDone, err
	case <-drain:
		return exitDone, nil
	case <-ctx.Done():
		p.warn("job-cleanup plan UNIT shows what takes long; what was not armed, run still finds", "arming took too long; the job starts as it is")
		return exitDone, nil
	}
}

// arm records first: what earlier invocations owe may take all of the time.
func (p *program) arm(ctx context.Context, o *options, limit func(time.Duration)) error {
	s, sub, err := p.about(ctx, o, true)
	if err != nil {
		return err
	}
	defer s.close()
	if sub.job.StartLimit > 0 {
		limit(sub.job.StartLimit / 3)
	}
	compiled, err := s.compile(sub, true)
	if err != nil {
		return err
	}
	if err := compiled.Filter(kinds(), o.skip, o.only); err != nil {
		return usagef("say a step's name or a kind", "%v", err)
	}
	if sub.job.Start.IsZero() { // nobody tells, and the job has not begun
		sub.job.Start = time.Now()
	}
	led, err := s.ledgerOf(sub.job.Job)
	rec := newRecorder(led, s.journal, sub.job.Job)
	if err != nil {
		rec.missing(err)
	}
	s.giveFolder(ctx, sub, rec)
	rec.book.add(s.armedRecords(ctx, sub, compiled, rec)...)
	rec.problems(compiled)
	if !rec.lacking.Load() { // else what is missing has been told
		rec.send(journal.Record{Event: journal.Armed, Message: fmt.Sprintf("armed %s: %d recorded", sub.job.Unit, len(compiled.Specs))})
	}
	s.settleEarlier(ctx, sub)
	return nil
}

// armedRecords makes the ledger lines of an armed job.
func (s *site) armedRecords(ctx context.Context, sub *subject, compiled *plan.Plan, rec *recorder) []ledger.Record {
	job := sub.job
	job.Armed, job.MaxJob = true, compiled.Settings.MaxJob
	for _, problem := range compiled.Problems {
		if problem.Deferred {
			job.Deferred = append(job.Deferred, problem.Step)
		}
	}
	var records []ledger.Record
	ctx, cancel := context.WithTimeout(ctx, prepareLimit(job.StartLimit))
	defer cancel()
	for _, spec := range compiled.Specs {
		if s.refuses(sub, spec, rec) { // run will say so, and nothing of it is written down
			job.Deferred = append(job.Deferred, spec.Name)
			continue
		}
		spec = s.keepSecrets(sub, spec, rec, secret.Credential)
		spec.Facts = s.prepare(ctx, sub, spec, rec)
		records = append(records, ledger.NewSpec(spec))
	}
	return append([]ledger.Record{ledger.NewJob(job)}, records...)
}

// refuses reports whether a spec's kind refuses it for good. No secret that the
// job's environment names is read for that with root's rights.
func (s *site) refuses(sub *subject, spec residue.Spec, rec *recorder) bool {
	kind := kinds().Kind(spec.Kind)
	if kind == nil {
		return false
	}
	deps := s.deps(sub.job.Job, spec, rec)
	if spec.FromEnv && s.uid == 0 && !sub.rootsOwn() {
		deps.Secret = func(string) (secret.Text, error) { return secret.New("-"), nil }
	}
	cleaner, err := kind.Open(spec, deps)
	if err == nil {
		residue.Close(cleaner)
	}
	e := residue.AsError(err)
	return e != nil && e.Class == residue.Refused
}

// prepareLimit bounds what all kinds together may take to look around.
func prepareLimit(start time.Duration) time.Duration {
	if start <= 0 || start/3 > armLimit {
		start = 3 * armLimit
	}
	return start / 9
}

// prepare asks the spec's kind what can only be learned before the job. What
// the job's environment names is not looked for with root's rights.
func (s *site) prepare(ctx context.Context, sub *subject, spec residue.Spec, rec *recorder) map[string]string {
	kind := kinds().Kind(spec.Kind)
	if kind == nil || spec.FromEnv && s.uid == 0 && !sub.rootsOwn() {
		return nil
	}
	cleaner, err := kind.Open(spec, s.deps(sub.job.Job, spec, rec))
	if err != nil {
		return nil // run will say so, when it counts
	}
	defer residue.Close(cleaner)
	preparer, ok := cleaner.(residue.Preparer)
	if !ok {
		return nil
	}
	answer := make(chan map[string]string, 1)
	go func() {
		facts, err := preparer.Prepare(ctx)
		if err != nil {
			facts = nil
		}
		answer <- facts
	}()
	select {
	case facts := <-answer:
		return facts
	case <-ctx.Done(): // it may hang on a file system or a server
		return nil
	}
}

// giveFolder makes the folder in which a User= job keeps what it tracks.
func (s *site) giveFolder(ctx context.Context, sub *subject, rec *recorder) {
	if s.uid != 0 || sub.identity.Unit == "" || sub.rootsOwn() || sub.job.User == nil {
		return
	}
	if err := ledger.Jobs(s.shared).Give(ctx, sub.job.Unit, *sub.job.User); err != nil {
		rec.missing(err)
	}
}

// problems tells what is wrong with a plan, apart from what may be fine later.
func (r *recorder) problems(p *plan.Plan) {
	for _, problem := range p.Problems {
		if problem.Deferred {
			continue
		}
		r.send(problemRecord(journal.Problem, problem))
	}
}
