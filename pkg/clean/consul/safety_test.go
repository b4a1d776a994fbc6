package consul_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"job-cleanup/pkg/clean/cleantest"
	"job-cleanup/pkg/clean/consul"
	"job-cleanup/pkg/residue"
)

// found is the one residue that is found.
func found(t *testing.T, c residue.Cleaner) residue.Residue {
	t.Helper()
	all, err := c.Find(context.Background())
	if err != nil || len(all) != 1 {
		t.Fatalf("found %v, %v; want one", all, err)
	}
	return all[0]
}

func TestALockOfAnotherStays(t *testing.T) {
	p := newPlace(t)
	deps := p.deps(p.Token)
	ours, theirs := p.session("job-ours", "release"), p.session("job-ours-too", "release")
	p.acquire("locks/theirs", theirs)
	byName := p.spec("ReleaseLock", "locks/theirs", map[string]string{"SessionName": "job-ours"})
	if got := clean(t, opened(t, byName, deps)); got != "nothing" {
		t.Errorf("by name: %s", got)
	}
	recorded := tracked(t, p.spec("", "locks/theirs", nil), "lock", ours, deps)
	if got := clean(t, opened(t, recorded, deps)); got != "find: lost changed" {
		t.Errorf("recorded: %s", got)
	}
	p.acquire("locks/ours", ours)
	c := opened(t, p.spec("ReleaseLock", "locks/ours", map[string]string{"SessionName": "job-ours"}), deps)
	r := found(t, c)
	p.must("PUT", "kv/locks/ours?release="+ours, "new value")
	if got := cleantest.Verdict(c.Remove(t.Context(), r)); got != "gone" {
		t.Errorf("released meanwhile: %s", got)
	}
	p.acquire("locks/ours", theirs)
	if got := cleantest.Verdict(c.Remove(t.Context(), r)); got != "lost changed" {
		t.Errorf("taken meanwhile: %s", got)
	}
	for _, key := range []string{"locks/theirs", "locks/ours"} {
		if k := p.key(key); k == nil || k.Session != theirs {
			t.Errorf("%s is %+v", key, k)
		}
	}
}

func TestRefusedBeforeAnythingIsSent(t *testing.T) {
	f := newFake(t)
	name := map[string]string{"SessionName": "job"}
	tests := []struct {
		selector, value string
		options         map[string]string
	}{
		{"ReleaseLock", "locks/x", nil}, {"ReleaseSemaphore", "slots/x", nil},
		{"ReleaseLock", "locks/x", map[string]string{"SessionName": "Consul API Lock"}},
		{"ReleaseSemaphore", "slots/x", map[string]string{"SessionName": "Consul API Semaphore"}},
		{"ReleaseLock", "", name}, {"ReleaseLock", "/locks/x", name}, {"ReleaseLock", "locks//x", name}, {"ReleaseLock", "locks/../x", name},
		{"ReleaseLock", "locks/./x", name}, {"ReleaseLock", "locks/\x00", name}, {"ReleaseSemaphore", "..", name},
		{"DestroySession", "", nil}, {"DestroySession", "Consul API Lock", nil},
		{"DeleteKeys", "jobs/1", nil}, {"DeleteKeys", "", nil}, {"DeleteKeys", "/", nil}, {"DeleteKeys", "jobs/../", nil}, {"DeleteKeys", "jobs//", nil},
		{"Unknown", "x", nil},
		{"DestroySession", "job", map[string]string{"Address": "http://me:canary@h"}},
		{"DestroySession", "job", map[string]string{"Address": "ftp://h"}}, {"DestroySession", "job", map[string]string{"Address": "h?x=y"}},
		{"DestroySession", "job", map[string]string{"Address": "unix://socket"}},
	}
	for _, tt := range tests {
		spec := residue.Spec{Selector: tt.selector, Value: tt.value, Options: map[string][]string{"Address": {f.URL}}}
		for key, value := range tt.options {
			spec.Options[key] = []string{value}
		}
		_, err := consul.Kind.Open(spec, residue.Deps{})
		if e := residue.AsError(err); e == nil || e.Class != residue.Refused || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s=%q with %v: %v, want refused", tt.selector, tt.value, tt.options, err)
		}
	}
	for kind, ref := range map[string]string{"keys": "jobs/", "lock": "locks/x", "semaphore": "slots/x"} {
		_, err := consul.Kind.Open(residue.Spec{Tracked: &residue.Residue{Type: kind, Ref: ref}}, residue.Deps{})
		if e := residue.AsError(err); e == nil || e.Class != residue.Refused {
			t.Errorf("tracked %s %q: %v, want refused", kind, ref, err)
		}
	}
	_, err := consul.Kind.Open(residue.Spec{Tracked: &residue.Residue{Type: "lock", Ref: "locks/x", Proof: map[string]string{"session": "../x"}}}, residue.Deps{})
	if got := cleantest.Verdict(err); got != "refused error" {
		t.Errorf("a session that is no id: %v", err)
	}
	if len(f.requests()) > 0 {
		t.Errorf("sent %q", f.requests())
	}
}

func TestCase48_onlyBelowThePrefix(t *testing.T) {
	p := newPlace(t)
	// Keys that no path can hold are written in a transaction.
	keys := []string{"jobs/1/", "jobs/1/a", "jobs/1/../10/x", "jobs/1//jobs/10/x"}
	for n := range 150 {
		keys = append(keys, fmt.Sprintf("jobs/1/many/%d", n))
	}
	p.write(keys)
	outside := []string{"jobs/1", "jobs/10/x", "jobs/1x", "jobs/"}
	p.write(outside)
	c := opened(t, p.spec("DeleteKeys", "jobs/1/", nil), p.deps(p.Token))
	if got := clean(t, c); got != "removed" {
		t.Error(got)
	}
	if got := p.list("jobs"); fmt.Sprint(got) != "[jobs/ jobs/1 jobs/10/x jobs/1x]" {
		t.Errorf("left %q, want %q", got, outside)
	}
}

// write sets keys to their own names.
func (p place) write(keys []string) {
	p.t.Helper()
	for len(keys) > 0 {
		n := min(64, len(keys))
		var ops []any
		for _, key := range keys[:n] {
			ops = append(ops, map[string]any{"KV": map[string]any{"Verb": "set", "Key": key, "Value": base64.StdEncoding.EncodeToString([]byte(key))}})
		}
		text, err := json.Marshal(ops)
		if err != nil {
			p.t.Fatal(err)
		}
		p.must("PUT", "txn", string(text))
		keys = keys[n:]
	}
}

// list lists the keys that begin with a prefix.
func (p place) list(prefix string) (keys []string) {
	p.t.Helper()
	if status, text := p.Do("GET", "kv/"+prefix+"?keys", ""); status == 200 {
		if err := json.Unmarshal([]byte(text), &keys); err != nil {
			p.t.Fatal(err)
		}
	}
	return keys
}

func TestKeysThatASessionHolds(t *testing.T) {
	p := newPlace(t)
	ours, theirs := p.session("job-k", "release"), p.session("another", "release")
	p.write([]string{"jobs/k/data"})
	p.acquire("jobs/k/ours", ours)
	p.acquire("jobs/k/theirs", theirs)
	tests := []struct {
		name, want string
		left       []string
	}{
		{"", "owed in-use", []string{"jobs/k/ours", "jobs/k/theirs"}},
		{"job-k", "owed in-use", []string{"jobs/k/theirs"}},
	}
	for _, tt := range tests {
		options := map[string]string{}
		if tt.name != "" {
			options["SessionName"] = tt.name
		}
		c := opened(t, p.spec("DeleteKeys", "jobs/k/", options), p.deps(p.Token))
		if got := clean(t, c); got != tt.want || fmt.Sprint(p.list("jobs/k/")) != fmt.Sprint(tt.left) {
			t.Errorf("with SessionName=%q: %s, left %q; want %s, %q", tt.name, got, p.list("jobs/k/"), tt.want, tt.left)
		}
	}
}

// TestTheEnvironmentIsNotRead sets what the client library reads by itself.
func TestTheEnvironmentIsNotRead(t *testing.T) {
	other := newFake(t)
	for name, value := range map[string]string{
		"CONSUL_HTTP_ADDR": other.URL, "CONSUL_HTTP_TOKEN": "environment", "CONSUL_NAMESPACE": "environment", "CONSUL_PARTITION": "environment",
		"CONSUL_HTTP_AUTH": "me:environment", "CONSUL_HTTP_SSL": "true", "HTTP_PROXY": other.URL,
	} {
		t.Setenv(name, value)
	}
	f := newFake(t)
	var seen []string
	handler := f.Config.Handler
	f.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, fmt.Sprint(r.URL, r.Header))
		handler.ServeHTTP(w, r)
	})
	spec := residue.Spec{Selector: "ReleaseLock", Value: "locks/x", Options: map[string][]string{
		"Address": {f.URL}, "SessionName": {"job"}, "Datacenter": {"dc7"},
	}}
	if got := clean(t, opened(t, spec, residue.Deps{})); got != "nothing" {
		t.Error(got)
	}
	if len(seen) != 1 || len(other.requests()) > 0 {
		t.Fatalf("requests %q, elsewhere %q", seen, other.requests())
	}
	if strings.Contains(seen[0], "environment") || strings.Contains(seen[0], "Authorization") || !strings.Contains(seen[0], "dc=dc7") {
		t.Errorf("sent %s", seen[0])
	}
}

func TestWhatAServerEchoesIsScrubbed(t *testing.T) {
	const token = `canary-"0/+`
	other := newFake(t)
	for _, status := range []int{301, 307, 400, 403, 500, 503} {
		f := newFake(t)
		f.on("", answer{status, other.URL + "/" + token + strings.Repeat(" "+token, 100_000)})
		s := residue.Spec{Selector: "DeleteKeys", Value: "jobs/1/", Options: map[string][]string{"Address": {f.URL}, "Token": {"file:/t"}}}
		_, err := opened(t, s, place{}.deps(token)).Find(t.Context())
		if err == nil || strings.Contains(err.Error(), "canary") || len(err.Error()) > 400 {
			t.Errorf("%d: %.500v", status, err)
		}
	}
	if len(other.requests()) > 0 {
		t.Errorf("the token went to %q", other.requests())
	}
}

func TestNobodySendsUsElsewhere(t *testing.T) {
	other, f := newFake(t), newFake(t)
	other.on("", answer{200, "[]"})
	for _, status := range []int{301, 302, 307, 308} {
		f.on("", answer{status, other.URL + "/v1/x"})
		for _, spec := range some(f.URL) {
			c := opened(t, spec, residue.Deps{})
			if got := clean(t, c); got != "find: owed error" {
				t.Errorf("%s, %d: %s", spec.Selector, status, got)
			}
			err := c.Remove(t.Context(), residue.Residue{Proof: map[string]string{"session": anID}})
			if got := cleantest.Verdict(err); got != "owed error" {
				t.Errorf("%s, %d: remove: %s", spec.Selector, status, got)
			}
		}
	}
	if len(other.requests()) > 0 {
		t.Errorf("sent elsewhere: %q", other.requests())
	}
}
