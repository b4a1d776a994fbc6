// Package vault revokes what a job got from Vault or OpenBao: its token, and
// leases of accounts in other systems.
//
// A token goes by itself (revoke-self), or by its accessor with the right of
// another token. A batch token can't be revoked; it is closed when it expires.
// A lease goes by its exact id, in one call that returns when the account is
// gone. Nothing is ever revoked by prefix or by force.
//
// Only two answers prove that a token is gone: "permission denied" together
// with "invalid token", and an accessor that nobody knows. "permission denied"
// alone says something about policies only.
package vault

import (
	"strings"

	"job-cleanup/pkg/residue"
)

// Kind revokes tokens and leases. The proof of a token has accessor, type
// ("service" or "batch") and renewable ("yes" or "no"), as far as they are
// known; that of a lease its id. The facts that Prepare records of a token are
// these and expires, in RFC 3339.
var Kind = &residue.Kind{
	Name: "vault",
	Doc:  "Revokes the job's token and leases in Vault or OpenBao.",
	Selectors: []residue.Selector{{
		Key: "Revoke", Type: "token", Value: residue.String, Phase: residue.Credentials, Rank: 1,
		Doc: "`self`: the token of Token=, by its own right. `token`: the same one, by the right of Identity= where that is given. " +
			"`accessor:ACCESSOR`: another token. `track` takes an accessor, or `self` for the token in the file of --token.",
		Example: "self",
	}, {
		Key: "Revoke", Front: leaseFront, Type: "lease", Value: residue.String, Phase: residue.Credentials, Rank: 0,
		Doc:     "One lease, by its exact id, with the right of Identity=, else of Token=. Leases go before tokens.",
		Example: "lease:database/creds/app/2f6a614c-4aa2-7b19-24b9-ad944a8d4de6",
	}},
	Options: []residue.Option{{
		Key: "Token", Value: residue.SecretRef, Identifies: true, Env: "VAULT_TOKEN",
		Doc: "The job's token.", Example: "file:%t/batch/vault-token",
	}, {
		Key: "Identity", Value: residue.SecretRef,
		Doc: "A token of the cleaner's own, for what the job's token may not do.", Example: "credential:vault-cleaner",
	}, {
		Key: "Address", Value: residue.String, Env: "VAULT_ADDR",
		Doc: "The server: http://, https:// or unix:// and a socket's path.", Example: "https://vault.example.org:8200",
	}, {
		Key: "Namespace", Value: residue.String, Env: "VAULT_NAMESPACE",
		Doc: "The namespace that token and leases belong to.", Example: "team-a",
	}, {
		Key: "CACert", Value: residue.Path, Env: "VAULT_CACERT",
		Doc: "A PEM file with the authorities that the server's certificate is checked with, instead of the machine's.", Example: "/etc/ssl/vault-ca.pem",
	}},
	Open: open,
}

const (
	leaseFront    = "lease:"
	accessorFront = "accessor:"
	selfWord      = "self"
	tokenWord     = "token"
)

func open(spec residue.Spec, deps residue.Deps) (residue.Cleaner, error) {
	a, err := openAccess(spec, deps)
	if err != nil {
		return nil, err
	}
	if spec.Tracked != nil {
		return a.tracked()
	}
	value := spec.Value
	switch {
	case strings.HasPrefix(value, leaseFront):
		return a.lease(strings.TrimPrefix(value, leaseFront))
	case strings.HasPrefix(value, accessorFront):
		return a.accessor(strings.TrimPrefix(value, accessorFront))
	case value == selfWord, value == tokenWord:
		return a.own(value == tokenWord)
	}
	return nil, residue.Errorf(residue.Refused, residue.Other,
		"Revoke= takes self, token, accessor:… or lease:… (value not shown)") // it may be a token
}

// tracked opens what a job wrote down.
func (a *access) tracked() (residue.Cleaner, error) {
	t := a.spec.Tracked
	switch {
	case t.Type == "lease":
		return a.lease(t.Ref)
	case t.Ref == selfWord:
		return a.own(false)
	}
	return a.accessor(t.Ref)
}

// lease checks a lease's id by its text.
func (a *access) lease(id string) (residue.Cleaner, error) {
	bad := id == "" || strings.HasPrefix(id, "/") || strings.HasSuffix(id, "/") || strings.Contains("/"+id+"/", "/../")
	if bad || !plain(id) {
		return nil, residue.Errorf(residue.Refused, residue.Other, "a lease is named by its whole id (value not shown)")
	}
	by, err := a.right()
	if err != nil {
		return nil, err
	}
	return &leaseCleaner{access: a, by: by, id: id}, nil
}

// accessor checks an accessor by its text.
func (a *access) accessor(accessor string) (residue.Cleaner, error) {
	if accessor == "" || strings.Contains(accessor, "/") || !plain(accessor) {
		return nil, residue.Errorf(residue.Refused, residue.Other, "not an accessor (value not shown)")
	}
	by, err := a.right()
	if err != nil {
		return nil, err
	}
	c := &tokenCleaner{access: a, by: by, named: accessor}
	if a.spec.Tracked != nil {
		c.self = by // it may be the very token
	}
	return c, nil
}

// own opens the token of Token=. When it can't be read any more, what is known
// of it from before the job may do.
func (a *access) own(byIdentity bool) (residue.Cleaner, error) {
	c := &tokenCleaner{access: a, byIdentity: byIdentity, sure: true}
	var err error
	if c.by, err = a.identity(); err != nil {
		return nil, err
	}
	if c.self, err = a.token(); err == nil {
		return c, nil
	}
	if residue.AsError(err).Class == residue.Refused || factsOf(a.spec.Facts).accessor == "" {
		return nil, err
	}
	c.lost = err
	return c, nil
}

// plain accepts printable text without blanks that is no token: one in the
// wrong place would end up in records.
func plain(text string) bool {
	for _, front := range []string{"hvs.", "hvb.", "hvr.", "s.", "b.", "r."} {
		if strings.HasPrefix(text, front) {
			return false
		}
	}
	return len(text) <= 1024 && strings.IndexFunc(text, func(c rune) bool { return c <= ' ' || c >= 0x7f }) < 0
}
