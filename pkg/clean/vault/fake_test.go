package vault_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"job-cleanup/pkg/clean/cleantest"
	"job-cleanup/pkg/clean/vault"
	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
)

// fake is a server that answers as it is told, for faults that a real one
// can't be made to have.
type fake struct {
	*httptest.Server
	mu      sync.Mutex
	answers map[string][]answer // by path; the last one stays
	log     []string            // "METHOD /path?query token body"
}

type answer struct {
	status int
	body   string
}

// lookup is the answer to lookup-self for a service token.
const lookup = `{"request_id":"1","data":{"accessor":"acc","type":"service","path":"auth/token/create","renewable":false,` +
	`"creation_time":1700000000,"expire_time":"2033-05-18T03:33:20Z","id":"canary-5f1c"}}`

func newFake(t *testing.T) *fake {
	f := &fake{answers: map[string][]answer{}}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	f.on("auth/token/lookup-self", answer{200, lookup})
	return f
}

// on sets what a path answers, one after the other.
func (f *fake) on(path string, answers ...answer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers["/v1/"+path] = answers
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	f.log = append(f.log, fmt.Sprintf("%s %s %s %s", r.Method, r.URL, r.Header.Get("X-Vault-Token"), body))
	next := answer{404, `{"errors":[]}`}
	if left := f.answers[r.URL.Path]; len(left) > 0 {
		next = left[0]
		if len(left) > 1 {
			f.answers[r.URL.Path] = left[1:]
		}
	}
	f.mu.Unlock()
	if next.status/100 == 3 {
		w.Header().Set("Location", next.body)
	}
	w.WriteHeader(next.status)
	_, _ = io.WriteString(w, next.body)
}

// requests is the log so far.
func (f *fake) requests() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.log...)
}

// plan is a spec of a plan for that server.
func (f *fake) plan(value string) residue.Spec {
	return residue.Spec{Kind: "vault", Selector: "Revoke", Value: value, Options: map[string][]string{
		"Address": {f.URL}, "Token": {"file:/token"},
	}}
}

func tracked(spec residue.Spec, kind, ref string) residue.Spec {
	spec.Value, spec.Tracked = ref, &residue.Residue{Type: kind, Ref: ref}
	return spec
}

// readers answers every reference with the canary.
func readers() residue.Deps {
	return residue.Deps{Secret: func(string) (secret.Text, error) { return secret.New(canary), nil }, Now: time.Now}
}

func opened(t *testing.T, spec residue.Spec, deps residue.Deps) residue.Cleaner {
	t.Helper()
	c, err := vault.Kind.Open(spec, deps)
	if err != nil {
		t.Fatalf("open %q: %v", spec.Value, err)
	}
	return c
}

// found is the one residue that is found.
func found(t *testing.T, c residue.Cleaner) residue.Residue {
	t.Helper()
	all, err := c.Find(context.Background())
	if err != nil || len(all) != 1 {
		t.Fatalf("found %v, %v; want one", all, err)
	}
	return all[0]
}

// clean finds and removes, and is the verdict of what failed.
func clean(t *testing.T, c residue.Cleaner) string {
	t.Helper()
	all, err := c.Find(context.Background())
	if err != nil {
		return "find: " + cleantest.Verdict(err)
	}
	if len(all) == 0 {
		return "nothing"
	}
	return cleantest.Verdict(c.Remove(context.Background(), all[0]))
}
