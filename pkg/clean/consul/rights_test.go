package consul_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"job-cleanup/pkg/residue"
)

// TestWithoutTheRightToSee is a token from which Consul hides what is there.
func TestWithoutTheRightToSee(t *testing.T) {
	p := newPlace(t)
	id := p.session("job-r", "release")
	p.acquire("locks/r", id)
	p.write([]string{"jobs/r/a"})
	tests := []struct{ name, rules, lock, session, byID, keys string }{
		{"nothing", `key_prefix "elsewhere/" { policy = "write" }`,
			"find: owed permission", "find: owed permission", "find: owed permission", "find: owed permission"},
		{"reading", `key_prefix "" { policy = "read" } session_prefix "" { policy = "read" }`,
			"owed permission", "owed permission", "owed permission", "owed permission"},
		{"keys alone", `key_prefix "" { policy = "write" }`,
			"find: owed permission", "find: owed permission", "find: owed permission", "removed"},
		{"all", `key_prefix "" { policy = "write" } session_prefix "" { policy = "write" }`, "removed", "removed", "nothing", "nothing"},
	}
	for _, tt := range tests {
		deps := p.deps(p.token(tt.name, tt.rules))
		for spec, want := range map[*residue.Spec]string{
			{Selector: "ReleaseLock", Value: "locks/r"}: tt.lock, {Selector: "DeleteKeys", Value: "jobs/r/"}: tt.keys,
		} {
			*spec = p.spec(spec.Selector, spec.Value, map[string]string{"SessionName": "job-r"})
			if got := clean(t, opened(t, *spec, deps)); got != want {
				t.Errorf("rights to %s: %s: %s, want %s", tt.name, spec.Selector, got, want)
			}
		}
		if got := clean(t, opened(t, p.spec("DestroySession", "job-r", nil), deps)); got != tt.session {
			t.Errorf("rights to %s: session by name: %s, want %s", tt.name, got, tt.session)
		}
		if got := clean(t, opened(t, p.spec("DestroySession", id, nil), deps)); got != tt.byID {
			t.Errorf("rights to %s: session by id: %s, want %s", tt.name, got, tt.byID)
		}
	}
}

// token makes a token with these rules.
func (p place) token(name, rules string) string {
	p.t.Helper()
	name = strings.ReplaceAll(name, " ", "-")
	policy, _ := json.Marshal(map[string]string{"Name": name, "Rules": rules})
	p.must("PUT", "acl/policy", string(policy))
	var made struct{ SecretID string }
	text := p.must("PUT", "acl/token", fmt.Sprintf(`{"Policies":[{"Name":%q}]}`, name))
	if err := json.Unmarshal([]byte(text), &made); err != nil || made.SecretID == "" {
		p.t.Fatalf("token: %s, %v", text, err)
	}
	return made.SecretID
}

// TestAnUnknownSessionIsAnsweredWith500 is how some versions answer.
func TestAnUnknownSessionIsAnsweredWith500(t *testing.T) {
	entry := fmt.Sprintf(`[{"ID":%q,"Name":"job"}]`, anID)
	tests := []struct {
		name  string
		infos []answer
		renew answer
		want  string
	}{
		{"gone meanwhile", []answer{{200, entry}, {200, entry}, {200, "[]"}}, answer{404, "not found"}, "gone"},
		{"still there", []answer{{200, entry}}, answer{404, "not found"}, "owed error"},
		{"hidden", []answer{{200, entry}, {200, entry}, {200, "[]"}}, answer{403, "Permission denied"}, "owed error"},
	}
	for _, tt := range tests {
		f := newFake(t)
		f.on("/v1/session/info/"+anID, tt.infos...)
		f.on("/v1/session/renew/"+anID, tt.renew)
		f.on("/v1/session/destroy/"+anID, answer{500, "rpc error: Unknown session"})
		spec := residue.Spec{Selector: "DestroySession", Value: anID, Options: map[string][]string{"Address": {f.URL}}}
		if got := clean(t, opened(t, spec, residue.Deps{})); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestSessionsWithoutACLs(t *testing.T) {
	for text, want := range map[string]string{"ACL support disabled": "nothing", "no such thing": "find: owed error"} {
		f := newFake(t)
		f.on("/v1/session/list", answer{200, "[]"})
		f.on("/v1/internal/acl/authorize", answer{401, text})
		spec := residue.Spec{Selector: "DestroySession", Value: "job", Options: map[string][]string{"Address": {f.URL}}}
		if got := clean(t, opened(t, spec, residue.Deps{})); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
