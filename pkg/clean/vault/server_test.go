package vault_test

import (
	"encoding/pem"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"job-cleanup/pkg/residue"
)

// spec is a plan's spec for the real server.
func (p *place) spec(value string, options map[string]string) residue.Spec {
	s := residue.Spec{Kind: "vault", Selector: "Revoke", Value: value, Options: map[string][]string{"Address": {p.Address}}}
	for key, option := range options {
		s.Options[key] = []string{option}
	}
	return s
}

func TestServerPolicies(t *testing.T) {
	p := newPlace(t)
	p.Policy("nothing", `path "kv/x" { capabilities = ["read"] }`)
	p.Policy("revoke", `path "auth/token/revoke-self" { capabilities = ["update"] }`)
	p.Policy("only-revoke", `path "auth/token/revoke-accessor" { capabilities = ["update"] }`)
	p.token(t, "file:/only-revoke", map[string]any{"policies": []string{"only-revoke"}})
	tests := []struct{ name, policy, value, identity, want string }{
		{"may nothing", "nothing", "self", "", "owed permission"},
		{"may nothing, helped", "nothing", "self", "file:/identity", "removed"},
		{"may revoke but not look", "revoke", "self", "", "removed"},
		{"may revoke, by identity", "revoke", "token", "file:/identity", "removed"},
		{"may all, by identity", "default", "token", "file:/identity", "removed"},
		{"identity may not look up", "default", "token", "file:/only-revoke", "removed"},
		{"accessor, identity may not look up", "default", "accessor", "file:/only-revoke", "removed"},
		{"accessor, identity may nothing", "default", "accessor", "file:/job", "owed permission"},
	}
	for _, tt := range tests {
		accessor := p.token(t, "file:/job", map[string]any{"policies": []string{tt.policy}, "no_default_policy": tt.policy != "default", "ttl": "1h"})
		options := map[string]string{"Token": "file:/job"}
		if tt.identity != "" {
			options["Identity"] = tt.identity
		}
		value := tt.value
		if value == "accessor" {
			value += ":" + accessor
		}
		got := clean(t, opened(t, p.spec(value, options), p.deps()))
		if got != tt.want || p.lives(accessor) != strings.HasPrefix(tt.want, "owed") {
			t.Errorf("%s: %s, lives %v; want %s", tt.name, got, p.lives(accessor), tt.want)
		}
	}
}

func TestCase32_batchTokenOnTheServer(t *testing.T) {
	p := newPlace(t)
	p.token(t, "file:/batch", map[string]any{"type": "batch", "policies": []string{"default"}, "ttl": "1h"})
	c := opened(t, p.spec("self", map[string]string{"Token": "file:/batch"}), p.deps())
	r := found(t, c)
	e := residue.AsError(c.Remove(t.Context(), r))
	if e == nil || e.Class != residue.Until || e.Until.IsZero() || !e.Until.Equal(r.Expires) || r.Proof["type"] != "batch" {
		t.Errorf("remove %v: %v", r, e)
	}
}

// TestWhatWasRecordedBeforeTheJob is a token whose reference leads elsewhere,
// or nowhere, by the time of the cleanup.
func TestWhatWasRecordedBeforeTheJob(t *testing.T) {
	tests := []struct{ name, now, identity, want string }{
		{"another token", "other", "", "find: owed no-credentials"},
		{"another token, helped", "other", "file:/identity", "removed"},
		{"unreadable", "", "", "find: owed no-credentials"},
		{"unreadable, helped", "", "file:/identity", "removed"},
		{"the same", "same", "", "removed"},
	}
	p := newPlace(t)
	for _, tt := range tests {
		accessor := p.token(t, "file:/job", map[string]any{"policies": []string{"default"}, "ttl": "1h"})
		options := map[string]string{"Token": "file:/job"}
		if tt.identity != "" {
			options["Identity"] = tt.identity
		}
		spec := p.spec("self", options)
		facts, err := opened(t, spec, p.deps()).(residue.Preparer).Prepare(t.Context())
		if err != nil || facts["accessor"] != accessor || facts["renewable"] != "yes" || facts["expires"] == "" || facts["type"] != "service" {
			t.Fatalf("facts %v, %v", facts, err)
		}
		spec.Facts = facts
		other := accessor
		switch tt.now {
		case "other":
			other = p.token(t, "file:/job", map[string]any{"policies": []string{"default"}})
		case "":
			delete(p.files, "file:/job")
		}
		got := clean(t, opened(t, spec, p.deps()))
		if got != tt.want || p.lives(accessor) != (tt.want != "removed") || other != accessor && !p.lives(other) {
			t.Errorf("%s: %s, ours lives %v, the other %v", tt.name, got, p.lives(accessor), p.lives(other))
		}
	}
}

// TestTrackedTokens is what a job may write down about tokens.
func TestTrackedTokens(t *testing.T) {
	p := newPlace(t)
	p.Policy("parent", `path "auth/token/create" { capabilities = ["update"] }`+cleaning)
	parent := p.token(t, "file:/parent", map[string]any{"policies": []string{"parent"}})
	child := func() string {
		auth, _ := p.Must(p.files["file:/parent"], http.MethodPost, "auth/token/create", map[string]any{"policies": []string{"default"}})["auth"].(map[string]any)
		accessor, _ := auth["accessor"].(string)
		return accessor
	}
	own := p.token(t, "file:/own", map[string]any{"policies": []string{"default"}})
	tests := []struct {
		name, ref, file, accessor string
		late                      bool // tracked while the server is not known
		want                      string
	}{
		{"a child", child(), "file:/parent", "", false, "removed"},
		{"a child, unproven", child(), "file:/parent", "", true, "removed"},
		{"somebody else's", parent, "file:/own", "", false, "owed permission"},
		{"itself", own, "file:/own", own, false, "removed"},
		{"itself again", own, "file:/own", "", true, "find: owed permission"},
		{"the parent as self", "self", "file:/parent", parent, false, "removed"},
		{"the parent as self, again", "self", "file:/parent", "", true, "nothing"},
	}
	for _, tt := range tests {
		spec := tracked(p.spec("", map[string]string{"Token": tt.file}), "token", tt.ref)
		if !tt.late {
			proven, err := opened(t, spec, p.deps()).(residue.Prover).Prove(t.Context())
			if err != nil || proven.Ref != tt.ref || proven.Proof["accessor"] != tt.accessor {
				t.Fatalf("%s: proved %v, %v", tt.name, proven, err)
			}
			spec.Tracked = &proven
		}
		if got := clean(t, opened(t, spec, p.deps())); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		if tt.want == "removed" && tt.accessor == "" && p.lives(tt.ref) || !strings.Contains(tt.name, "self") && !p.lives(parent) {
			t.Errorf("%s: lives %v, its parent %v", tt.name, p.lives(tt.ref), p.lives(parent))
		}
	}
	c := opened(t, tracked(p.spec("", map[string]string{"Token": "file:/own"}), "token", own), p.deps())
	if all, err := c.Find(t.Context()); err == nil {
		t.Errorf("an intent whose token is not valid: found %v", all)
	}
}

func TestTrackWhileTheServerIsDown(t *testing.T) {
	f := newFake(t)
	f.Close()
	for _, ref := range []string{"self", "acc"} {
		spec := tracked(f.plan(""), "token", ref)
		r, err := opened(t, spec, readers()).(residue.Prover).Prove(t.Context())
		if err != nil || r.Ref != ref || len(r.Proof) > 0 {
			t.Errorf("%s: %v, %v; want it recorded as it is", ref, r, err)
		}
	}
}

func TestSocketsAndCertificates(t *testing.T) {
	f := newFake(t)
	f.on("auth/token/revoke-self", answer{204, ""})
	socket := filepath.Join(t.TempDir(), "vault.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	onSocket := httptest.NewUnstartedServer(f.Config.Handler)
	onSocket.Listener = listener
	onSocket.Start()
	defer onSocket.Close()
	secure := httptest.NewUnstartedServer(f.Config.Handler)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes fail on purpose
	secure.StartTLS()
	defer secure.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	if err := os.WriteFile(ca, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ address, ca, want string }{
		{"unix://" + socket, "", "removed"},
		{secure.URL, ca, "removed"},
		{secure.URL, "", "find: owed error"},
		{strings.Replace(secure.URL, "https", "http", 1), "", "find: owed error"},
		{"https" + strings.TrimPrefix(f.URL, "http"), "", "find: unreachable unreachable"},
	} {
		spec := f.plan("self")
		spec.Options = maps.Clone(spec.Options)
		spec.Options["Address"] = []string{tt.address}
		if tt.ca != "" {
			spec.Options["CACert"] = []string{tt.ca}
		}
		if got := clean(t, opened(t, spec, readers())); got != tt.want {
			t.Errorf("%s with %q: %s, want %s", tt.address, tt.ca, got, tt.want)
		}
	}
}
