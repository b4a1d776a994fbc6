package main

import (
	"errors"
	"os"
	"slices"
	"strings"

	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
)

// endpointSuffix names the credential that says where another one may be used.
const endpointSuffix = ".endpoint"

// passDeps are the dependencies of a pass. Where a job's secret is gone, with
// the job or with the power, the sweep's own credential of the same name does,
// if it has one for that very endpoint.
func (p *pass) passDeps(job residue.Job, spec residue.Spec, rec *recorder) residue.Deps {
	deps := p.laterDeps(job, spec, rec)
	if p.emptying {
		deps.Later, deps.Idle = nil, !p.byHand
	}
	jobs := deps.Secret
	deps.Secret = func(ref string) (secret.Text, error) {
		text, err := jobs(ref)
		if cause := residue.AsError(err); cause == nil || cause.Reason != residue.NoCredentials {
			return text, err
		}
		if own, ownErr := p.ownSecret(spec, ref); ownErr == nil {
			return own, nil
		}
		return text, err
	}
	return deps
}

// errNotOurs says that an identity of ours is not for this.
var errNotOurs = errors.New("no identity of the sweep is for this")

// ownSecret is a credential of the sweep's own unit. It serves only what stands
// in a plan, word for word: neither what a job wrote down nor what its
// environment is part of.
func (p *pass) ownSecret(spec residue.Spec, ref string) (secret.Text, error) {
	folder := p.credentials
	if folder == "" || spec.Tracked != nil || spec.FromEnv {
		return secret.Text{}, errNotOurs
	}
	name := credentialOf(folder, ref)
	if name == "" {
		return secret.Text{}, errNotOurs
	}
	own := secret.Resolver{Credentials: folder, Schemes: []string{secret.Credential}}
	endpoint, err := own.Resolve(secret.Ref{Scheme: secret.Credential, Name: name + endpointSuffix}.String())
	if err != nil {
		return secret.Text{}, err
	}
	for key, values := range spec.Options {
		if !isSecret(spec.Kind, key) && slices.Contains(values, strings.TrimSpace(endpoint.Reveal())) {
			return own.Resolve(secret.Ref{Scheme: secret.Credential, Name: name}.String())
		}
	}
	return secret.Text{}, errNotOurs
}

// credentialOf is the credential in a folder that a reference means: by its
// name, or by the digest of it that arm left when it put the secret by.
func credentialOf(folder, ref string) string {
	parsed, err := secret.ParseRef(ref)
	if err != nil {
		return ""
	}
	if parsed.Scheme == secret.Credential {
		return parsed.Name
	}
	entries, err := os.ReadDir(folder)
	if err != nil || parsed.Scheme != secret.Stashed {
		return ""
	}
	for _, entry := range entries {
		if secret.StashID(secret.Ref{Scheme: secret.Credential, Name: entry.Name()}) == parsed.Name {
			return entry.Name()
		}
	}
	return ""
}

// isSecret reports whether a key of a kind holds the reference of a secret.
func isSecret(kind, key string) bool {
	k := kinds().Kind(kind)
	return k == nil || slices.ContainsFunc(k.Options, func(o residue.Option) bool {
		return o.Key == key && o.Value == residue.SecretRef
	})
}
