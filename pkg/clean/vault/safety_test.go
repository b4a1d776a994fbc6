package vault_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"job-cleanup/pkg/clean/vault"
	"job-cleanup/pkg/residue"
)

func TestOnlyTwoAnswersProveThatATokenIsGone(t *testing.T) {
	const both = `{"errors":["2 errors occurred:\n\t* permission denied\n\t* invalid token\n\n"]}`
	tests := []struct {
		name, value, path string
		answer            answer
		want              string
	}{
		{"self, both", "self", "auth/token/revoke-self", answer{403, both}, "gone"},
		{"self, denied alone", "self", "auth/token/revoke-self", answer{403, `{"errors":["permission denied"]}`}, "owed permission"},
		{"self, invalid alone", "self", "auth/token/revoke-self", answer{403, `{"errors":["invalid token"]}`}, "owed permission"},
		{"self, another status", "self", "auth/token/revoke-self", answer{400, both}, "owed error"},
		{"self, batch", "self", "auth/token/revoke-self", answer{400, `{"errors":["batch tokens cannot be revoked"]}`}, "until error"},
		{"self, a page", "self", "auth/token/revoke-self", answer{200, "<html>OK</html>"}, "owed error"},
		{"self, empty", "self", "auth/token/revoke-self", answer{200, ""}, "owed error"},
		{"self, accepted", "self", "auth/token/revoke-self", answer{202, ""}, "owed error"},
		{"self, not found", "self", "auth/token/revoke-self", answer{404, `{"errors":[]}`}, "owed error"},
		{"self, done", "self", "auth/token/revoke-self", answer{204, ""}, "removed"},
		{"accessor, done", "accessor:acc", "auth/token/revoke-accessor", answer{204, ""}, "removed"},
		{"accessor, warned", "accessor:acc", "auth/token/revoke-accessor", answer{200, `{"request_id":"1","warnings":["No token found with this accessor"]}`}, "gone"},
		{"accessor, another warning", "accessor:acc", "auth/token/revoke-accessor", answer{200, `{"request_id":"1","warnings":["slow"]}`}, "removed"},
		{"accessor, older server", "accessor:acc", "auth/token/revoke-accessor", answer{400, `{"errors":["1 error occurred:\n\t* invalid accessor\n\n"]}`}, "gone"},
		{"accessor, our identity is invalid", "accessor:acc", "auth/token/revoke-accessor", answer{403, both}, "owed permission"},
		{"lease, our identity is invalid", "lease:a/b/c", "sys/leases/revoke", answer{403, both}, "owed permission"},
		{"lease, queued", "lease:a/b/c", "sys/leases/revoke", answer{202, ""}, "owed error"},
		{"lease, backend is down", "lease:a/b/c", "sys/leases/revoke", answer{500, `{"errors":["failed to revoke entry"]}`}, "owed error"},
	}
	for _, tt := range tests {
		f := newFake(t)
		f.on("auth/token/lookup-accessor", answer{200, lookup})
		f.on("sys/leases/lookup", answer{200, `{"request_id":"1","data":{"id":"a/b/c"}}`})
		f.on(tt.path, tt.answer)
		if got := clean(t, opened(t, f.plan(tt.value), readers())); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestALeaseGoesInTheBodyAndAtOnce(t *testing.T) {
	f := newFake(t)
	const id = "database/creds/app/x?y=../z"
	f.on("sys/leases/lookup", answer{200, `{"request_id":"1","data":{"id":"` + id + `"}}`})
	f.on("sys/leases/revoke", answer{204, ""})
	if got := clean(t, opened(t, f.plan("lease:"+id), readers())); got != "removed" {
		t.Fatal(got)
	}
	log := f.requests()
	last := log[len(log)-1]
	front := "PUT /v1/sys/leases/revoke " + canary + " "
	var body struct {
		LeaseID string `json:"lease_id"`
		Sync    bool   `json:"sync"`
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(last, front)), &body); err != nil || body.LeaseID != id || !body.Sync {
		t.Errorf("sent %q, want %q and the lease in the body, sync", last, front)
	}
}

func TestRefusedBeforeAnythingIsSent(t *testing.T) {
	f := newFake(t)
	tests := []struct{ value, address string }{
		{"", f.URL}, {"selfish", f.URL}, {canary, f.URL}, {"accessor:", f.URL}, {"accessor:hvs." + canary, f.URL},
		{"accessor:s." + canary, f.URL}, {"accessor:a/b", f.URL}, {"accessor:a b", f.URL},
		{"lease:", f.URL}, {"lease:database/creds/", f.URL}, {"lease:/a", f.URL}, {"lease:a/../b", f.URL}, {"lease:a\nb", f.URL},
		{"self", ""}, {"self", "127.0.0.1:8200"}, {"self", "ftp://h"}, {"self", "http://"}, {"self", "http://me:" + canary + "@h"},
		{"self", "http://h?x=y"}, {"self", "unix:socket"}, {"self", "http://h:" + canary},
	}
	for _, tt := range tests {
		spec := f.plan(tt.value)
		spec.Options["Address"] = []string{tt.address}
		_, err := vault.Kind.Open(spec, readers())
		if e := residue.AsError(err); e == nil || e.Class != residue.Refused || strings.Contains(err.Error(), canary) {
			t.Errorf("%q at %q: %v, want refused and no secret", tt.value, tt.address, err)
		}
	}
	if len(f.requests()) > 0 {
		t.Errorf("sent %q", f.requests())
	}
}

// TestTheEnvironmentIsNotRead sets what the client library reads by itself.
func TestTheEnvironmentIsNotRead(t *testing.T) {
	other := newFake(t)
	for name, value := range map[string]string{
		"VAULT_ADDR": other.URL, "VAULT_AGENT_ADDR": other.URL, "VAULT_TOKEN": "environment", "VAULT_NAMESPACE": "environment",
		"VAULT_HEADERS": `{"X-Environment":"1"}`, "VAULT_PROXY_ADDR": other.URL, "VAULT_HTTP_PROXY": other.URL, "VAULT_MAX_RETRIES": "5",
		"VAULT_SRV_LOOKUP": "1", "HTTP_PROXY": other.URL, "VAULT_RATE_LIMIT": "1:1",
	} {
		t.Setenv(name, value)
	}
	f := newFake(t)
	f.on("auth/token/revoke-self", answer{500, ""})
	var headers []http.Header
	handler := f.Config.Handler
	f.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		headers = append(headers, r.Header)
		handler.ServeHTTP(w, r)
	})
	if got := clean(t, opened(t, f.plan("self"), readers())); got != "owed error" {
		t.Error(got)
	}
	if len(headers) != 2 || len(other.requests()) > 0 {
		t.Errorf("%d requests, want a look-up and one try; elsewhere %q", len(headers), other.requests())
	}
	for _, h := range headers {
		if h.Get("X-Vault-Token") != canary || h.Get("X-Vault-Namespace") != "" || h.Get("X-Environment") != "" || h.Get("X-Vault-Request") != "true" {
			t.Errorf("headers %v", h)
		}
	}
}

func TestNobodySendsUsElsewhere(t *testing.T) {
	other, f := newFake(t), newFake(t)
	for _, status := range []int{301, 302, 307, 308} {
		f.on("auth/token/lookup-self", answer{status, other.URL + "/v1/auth/token/lookup-self"})
		f.on("auth/token/revoke-self", answer{status, other.URL + "/v1/auth/token/revoke-self"})
		c := opened(t, f.plan("self"), readers())
		if got := clean(t, c); got != "find: owed error" {
			t.Errorf("%d: %s", status, got)
		}
		spec := f.plan("self")
		f.on("auth/token/lookup-self", answer{200, lookup})
		if got := clean(t, opened(t, spec, readers())); got != "owed error" {
			t.Errorf("%d: revoke: %s", status, got)
		}
	}
	if len(other.requests()) > 0 {
		t.Errorf("the token went to %q", other.requests())
	}
}

func TestWhatAServerEchoesIsScrubbed(t *testing.T) {
	const odd = canary + `"\<&>/+`
	quoted, _ := json.Marshal(odd)
	bodies := []string{
		fmt.Sprintf(`{"errors":["token %s"]}`, canary), "plain " + odd, fmt.Sprintf(`{"errors":[%s]}`, quoted), url.QueryEscape(odd),
		strings.Repeat("x", 290) + odd, strings.Repeat("long ", 400_000),
	}
	for _, body := range bodies {
		for _, status := range []int{400, 403, 500} {
			f := newFake(t)
			f.on("auth/token/lookup-self", answer{status, body})
			deps := readers()
			_, err := opened(t, f.plan("self"), deps).Find(t.Context())
			if err == nil && status != 403 || err != nil && (strings.Contains(err.Error(), canary) || len(err.Error()) > 400) {
				t.Errorf("%d: %.500v", status, err)
			}
		}
	}
}

func TestARootTokenIsNobodysResidue(t *testing.T) {
	f := newFake(t)
	f.on("auth/token/lookup-self", answer{200, strings.Replace(lookup, "auth/token/create", "auth/token/root", 1)})
	if got := clean(t, opened(t, f.plan("self"), readers())); got != "find: refused protected" {
		t.Error(got)
	}
}

func TestATokenMadeAfterTheJobIsAnothers(t *testing.T) {
	f := newFake(t)
	f.on("auth/token/revoke-self", answer{204, ""})
	made := time.Unix(1700000000, 0) // as in lookup
	for end, want := range map[time.Time]string{
		made.Add(-time.Hour): "find: lost changed", made.Add(-time.Second): "removed", made.Add(time.Hour): "removed", {}: "removed",
	} {
		deps := readers()
		deps.Job.End = end
		if got := clean(t, opened(t, f.plan("self"), deps)); got != want {
			t.Errorf("ended %v after: %s, want %s", end.Sub(made), got, want)
		}
	}
}
