package main

import (
	"maps"
	"path/filepath"
	"slices"

	"job-cleanup/pkg/engine"
	"job-cleanup/pkg/journal"
	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
)

// systemCredentials is where the system's manager keeps the units' credentials.
const systemCredentials = "/run/credentials"

// credentials is the folder of the unit's credentials, "" when it has none. A
// job can write another unit's into its environment; with root's rights only
// the unit's own counts.
func (s *site) credentials(job residue.Job) string {
	folder := s.env["CREDENTIALS_DIRECTORY"]
	if folder == "" || s.uid != 0 || job.User != nil && job.User.UID == 0 {
		return folder
	}
	return filepath.Join(systemCredentials, job.Unit)
}

// stash is where arm keeps the job's secrets for its cleanup.
func (s *site) stash(job residue.Job) *secret.Stash {
	if s.runtime == "" || job.Unit == "" {
		return nil
	}
	stash := &secret.Stash{Base: s.runtime, Unit: job.Unit, Invocation: job.Invocation, UID: s.uid, GID: s.gid}
	if s.uid == 0 && job.User != nil {
		stash.UID, stash.GID = int(job.User.UID), int(job.User.GID)
	}
	return stash
}

// keepSecrets stashes what the spec's secret references of some schemes lead
// to, and lets them lead to the stash: systemd takes a unit's credentials away
// before the hook, and its runtime folder right after it. The spec's id stays.
func (s *site) keepSecrets(sub *subject, spec residue.Spec, rec *recorder, schemes ...string) residue.Spec {
	kind := kinds().Kind(spec.Kind)
	if kind == nil {
		return spec
	}
	for _, option := range kind.Options {
		ref, err := secret.ParseRef(spec.Option(option.Key))
		if option.Value != residue.SecretRef || err != nil || !slices.Contains(schemes, ref.Scheme) {
			continue
		}
		kept, err := s.keep(sub, ref)
		if err != nil {
			if ref.Scheme == secret.Credential {
				rec.send(noSecret(spec, err))
			}
			continue // the reference stays; run tells when it leads nowhere
		}
		spec.Options = maps.Clone(spec.Options)
		spec.Options[option.Key] = []string{kept}
	}
	return spec
}

// keep stashes one secret and returns its new reference. The stash is the job
// user's: as root, nothing goes there that this user could not read itself.
func (s *site) keep(sub *subject, ref secret.Ref) (string, error) {
	resolver := secret.Resolver{Env: s.env.lookup, Credentials: s.credentials(sub.job.Job)}
	if s.uid == 0 && !sub.rootsOwn() && ref.Scheme != secret.Credential {
		if sub.job.User == nil {
			return "", secret.ErrForbidden
		}
		resolver = secret.Resolver{Owner: &sub.job.User.UID}
	}
	value, err := resolver.Resolve(ref.String())
	if err != nil {
		return "", err
	}
	return s.stash(sub.job.Job).Put(ref, value)
}

// keepForLater stashes the secrets of a cleanup that begins: what they stand in
// may go with it, and what is owed then needs them again.
func (s *site) keepForLater(sub *subject, w *work, rec *recorder) {
	for i, item := range w.items {
		if item.Resolved || item.Spec.Tracked != nil {
			continue
		}
		spec := s.keepSecrets(sub, item.Spec, rec, secret.File, secret.Credential)
		if !maps.EqualFunc(spec.Options, item.Spec.Options, slices.Equal) {
			w.items[i] = engine.Item{Spec: spec, Found: item.Found, Attempts: item.Attempts}
			w.recorded[spec.ID] = false
		}
	}
}

// noSecret tells that a credential of a step can't be read.
func noSecret(spec residue.Spec, err error) journal.Record {
	return journal.Record{
		Event: journal.Problem, Step: spec.Name, Source: spec.Source, Kind: spec.Kind,
		Reason: string(residue.NoCredentials), Detail: err.Error(),
	}
}
