package vault_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"job-cleanup/pkg/clean/cleantest"
	"job-cleanup/pkg/clean/vault"
	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
	"job-cleanup/test/servers"
)

// canary stands in every secret of these tests.
const canary = "canary-5f1c"

// cleaning is a policy with all that Identity= may need.
const cleaning = `
path "auth/token/lookup" { capabilities = ["update"] }
path "auth/token/lookup-accessor" { capabilities = ["update"] }
path "auth/token/revoke-accessor" { capabilities = ["update"] }
path "sys/leases/lookup" { capabilities = ["update"] }
path "sys/leases/revoke" { capabilities = ["update"] }
`

// place is a real server and the files that secrets stand in.
type place struct {
	*servers.VaultServer
	mu    sync.Mutex
	files map[string]string // by reference
}

func newPlace(t *testing.T) *place {
	p := &place{VaultServer: servers.Vault(t), files: map[string]string{}}
	p.Policy("cleaning", cleaning)
	p.token(t, "file:/identity", map[string]any{"policies": []string{"cleaning"}})
	return p
}

// token makes a token with the canary in it and keeps it in a file.
func (p *place) token(t testing.TB, ref string, parameters map[string]any) (accessor string) {
	t.Helper()
	parameters = maps.Clone(parameters)
	if parameters["type"] != "batch" {
		parameters["id"] = canary + rand.Text()
	}
	token, accessor := p.Token(parameters)
	p.put(ref, token)
	return accessor
}

func (p *place) put(ref, text string) { p.mu.Lock(); defer p.mu.Unlock(); p.files[ref] = text }

func (p *place) read(ref string) (secret.Text, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if text, ok := p.files[ref]; ok {
		return secret.New(text), nil
	}
	return secret.Text{}, residue.Errorf(residue.Retry, residue.NoCredentials, "nothing at %q", ref)
}

func (p *place) deps() residue.Deps { return residue.Deps{Secret: p.read} }

// lives asks the server with the root token.
func (p *place) lives(accessor string) bool {
	status, _ := p.Do(p.Root, http.MethodPost, "auth/token/lookup-accessor", map[string]any{"accessor": accessor})
	return status == http.StatusOK
}

// subject is a subject whose residue is a job's token.
func (p *place) subject(value func(accessor string) string, identity bool) cleantest.Subject {
	s := cleantest.Subject{
		Kind: trackable(),
		Spec: func(accessor string) residue.Spec {
			options := map[string][]string{"Address": {p.Address}, "Token": {"file:/job/" + accessor}}
			if identity {
				options["Identity"] = []string{"file:/identity"}
			}
			return residue.Spec{Selector: "Revoke", Value: value(accessor), Options: options}
		},
		Deps: func(testing.TB) residue.Deps { return p.deps() },
		Make: func(t testing.TB) string {
			accessor := p.token(t, "file:/new", map[string]any{"policies": []string{"default"}, "ttl": "1h"})
			p.put("file:/job/"+accessor, p.files["file:/new"])
			return accessor
		},
		Exists: func(_ testing.TB, accessor string) bool { return p.lives(accessor) },
		Remove: func(_ testing.TB, accessor string) {
			p.Must(p.Root, http.MethodPost, "auth/token/revoke-accessor", map[string]any{"accessor": accessor})
		},
		Decoy: p.decoy,
		State: func(testing.TB, string) string {
			return fmt.Sprint(p.Must(p.Root, "LIST", "auth/token/accessors", nil)["data"])
		},
		Down:    func(testing.TB) { p.Stop() },
		Up:      func(testing.TB) { p.Start() },
		Secrets: []string{canary, p.Root},
	}
	s.WrongCredentials = func(testing.TB) residue.Deps { return p.misled("file:/identity") }
	if !identity { // the token itself is the residue; here it can't be read
		s.WrongCredentials = func(testing.TB) residue.Deps { return residue.Deps{} }
	}
	return s
}

// misled are dependencies with a wrong secret at one place.
func (p *place) misled(where string) residue.Deps {
	return residue.Deps{Secret: func(ref string) (secret.Text, error) {
		if ref == where {
			return secret.New("wrong-" + canary), nil
		}
		return p.read(ref)
	}}
}

// decoy is another job's token and lease.
func (p *place) decoy(t testing.TB, _ string) func() error {
	accessor := p.token(t, "file:/decoy", map[string]any{"policies": []string{"default"}})
	p.Must(p.Root, http.MethodGet, "lease/creds/decoy", nil)
	return func() error {
		if !p.lives(accessor) || !slices.Contains(p.Leases(), "decoy") {
			return errors.New("somebody else's token or lease is gone")
		}
		return nil
	}
}

// trackable is the kind for a suite that tracks with a plan's options: what is
// tracked has the same token as the job's own instead of an identity.
func trackable() *residue.Kind {
	kind := *vault.Kind
	kind.Open = func(spec residue.Spec, deps residue.Deps) (residue.Cleaner, error) {
		if identity := spec.Options["Identity"]; spec.Tracked != nil && identity != nil {
			spec.Options = maps.Clone(spec.Options)
			delete(spec.Options, "Identity")
			spec.Options["Token"] = identity
		}
		return vault.Kind.Open(spec, deps)
	}
	return &kind
}

func TestConformance(t *testing.T) {
	p := newPlace(t)
	word := func(w string) func(string) string { return func(string) string { return w } }
	t.Run("self", func(t *testing.T) { cleantest.Run(t, p.subject(word("self"), false)) })
	t.Run("token", func(t *testing.T) { cleantest.Run(t, p.subject(word("token"), true)) })
	t.Run("accessor", func(t *testing.T) {
		cleantest.Run(t, p.subject(func(accessor string) string { return "accessor:" + accessor }, true))
	})
	t.Run("lease", func(t *testing.T) { cleantest.Run(t, p.lease()) })
}

// lease is a subject whose residue is the account of a lease.
func (p *place) lease() cleantest.Subject {
	s := p.subject(func(id string) string { return "lease:" + id }, true)
	name := func(id string) string { return path.Base(path.Dir(id)) }
	s.Make = func(t testing.TB) string {
		id, _ := p.Must(p.Root, http.MethodGet, "lease/creds/"+strings.ToLower(rand.Text()), nil)["lease_id"].(string)
		if id == "" {
			t.Fatal("no lease was given")
		}
		return id
	}
	s.Exists = func(_ testing.TB, id string) bool { return slices.Contains(p.Leases(), name(id)) }
	s.Remove = func(_ testing.TB, id string) {
		p.Must(p.Root, http.MethodPut, "sys/leases/revoke", map[string]any{"lease_id": id, "sync": true})
	}
	s.State = func(testing.TB, string) string { return fmt.Sprint(p.Leases()) }
	return s
}
