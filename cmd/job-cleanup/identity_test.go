package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
)

// tokensAsked is a server that notes the tokens of its callers.
func tokensAsked(t *testing.T) (address string, asked func() string) {
	t.Helper()
	var mu sync.Mutex
	seen := map[string]bool{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen[r.Header.Get("X-Vault-Token")] = true
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"errors":["invalid lease"]}`)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() string {
		mu.Lock()
		defer mu.Unlock()
		return fmt.Sprint(seen)
	}
}

// TestSweepsOwnIdentity: what the power took from a job the sweep has of its
// own, for one endpoint, and for nothing that a job wrote.
func TestSweepsOwnIdentity(t *testing.T) {
	stashed := "stash:" + secret.StashID(secret.Ref{Scheme: secret.Credential, Name: "cleaner"})
	for name, test := range map[string]struct {
		ref     string
		change  func(*residue.Spec)
		other   bool // the identity is for another endpoint
		allowed bool
	}{
		"put by at boot":     {ref: stashed, allowed: true},
		"never put by":       {ref: "credential:cleaner", allowed: true},
		"another endpoint":   {ref: stashed, other: true},
		"another name":       {ref: "credential:other"},
		"from a job's words": {ref: stashed, change: func(s *residue.Spec) { s.FromEnv = true }},
		"tracked": {ref: "credential:cleaner", change: func(s *residue.Spec) {
			s.Tracked = &residue.Residue{Type: "lease", Ref: "l/1", Proof: map[string]string{"lease": "l/1"}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, asked := tokensAsked(t)
			state, own := t.TempDir(), t.TempDir()
			endpoint := address
			if test.other {
				endpoint = "http://127.0.0.1:1"
			}
			for name, text := range map[string]string{"cleaner": "own\n", "cleaner.endpoint": endpoint + "\n"} {
				if err := os.WriteFile(filepath.Join(own, name), []byte(text), 0o400); err != nil {
					t.Fatal(err)
				}
			}
			spec := residue.Spec{Kind: "vault", Selector: "Revoke", Value: "lease:l/1", Phase: residue.Credentials,
				Options: map[string][]string{"Address": {address}, "Token": {test.ref}}}
			if test.change != nil {
				test.change(&spec)
			}
			spec.Identify()
			l, err := storeOfTests(state).Ledger("u.service", "one")
			if err != nil {
				t.Fatal(err)
			}
			job := ledger.Job{Job: residue.Job{Boot: otherBoot, User: &residue.Identity{UID: uint32(os.Getuid())}}}
			if err := l.Append(t.Context(), ledger.NewJob(job), ledger.NewSpec(spec)); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("job-cleanup", "sweep", "--state-dir", state, "--runtime-dir", t.TempDir())
			cmd.Env = []string{"CREDENTIALS_DIRECTORY=" + own}
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			want := "map[]"
			if test.allowed {
				want = "map[own:true]"
			}
			if got := asked(); got != want {
				t.Errorf("asked with %s, want %s\n%s", got, want, out)
			}
			if done := strings.HasPrefix(string(out), "absent"); done != test.allowed {
				t.Errorf("it said\n%s", out)
			}
		})
	}
}
