package main

import (
	"bytes"
	"errors"
	"time"

	"job-cleanup/pkg/journal"
	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
)

var errRunsAgain = errors.New("the unit runs again: what the plan names may be the new invocation's")

// deps is what a cleaner is given beside its spec.
func (s *site) deps(job residue.Job, spec residue.Spec, rec *recorder) residue.Deps {
	resolver := secret.Resolver{Env: s.env.lookup, Credentials: s.credentials(job), Stash: s.stash(job)}
	if spec.Tracked != nil && s.uid != 0 {
		uid := uint32(s.uid)
		resolver = secret.Resolver{Owner: &uid} // what a job wrote down names no secret but its own files
	}
	return residue.Deps{
		Job:     job,
		Secret:  func(ref string) (secret.Text, error) { return resolve(resolver, ref) },
		Env:     s.env.lookup,
		Output:  &outputLines{rec: rec, spec: spec},
		Now:     time.Now,
		Gone:    s.progress.more,
		Ordered: s.ordered,
		Later:   func() bool { return s.sweeps() && rec.keeps() },
	}
}

// sweeps reports whether some sweep can come back to what this process put off.
// A dynamic user's number, and with it the right to its files, ends with the
// hook.
func (s *site) sweeps() bool { return s.uid < dynamicFirst || s.uid > dynamicLast }

// resolve puts the errors of secrets into the words that the engine acts on.
func resolve(r secret.Resolver, ref string) (secret.Text, error) {
	text, err := r.Resolve(ref)
	switch {
	case err == nil:
		return text, nil
	case errors.Is(err, secret.ErrForbidden):
		return text, &residue.Error{Class: residue.Refused, Reason: residue.Protected, Err: err}
	}
	return text, &residue.Error{Class: residue.Retry, Reason: residue.NoCredentials, Err: err}
}

// outputLines sends what a command prints to the journal, one record a line.
type outputLines struct {
	rec  *recorder
	spec residue.Spec
}

// Write takes whole lines.
func (o *outputLines) Write(text []byte) (int, error) {
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, "\r\n")
		o.rec.send(journal.Record{
			Event: journal.CommandOutput, Message: string(line),
			Kind: o.spec.Kind, Step: o.spec.Name, Source: o.spec.Source,
		})
	}
	return len(text), nil
}
