package consul_test

import (
	"fmt"
	"strings"
	"testing"

	"job-cleanup/pkg/clean/cleantest"
	"job-cleanup/pkg/residue"
)

// TestTheValueOfALockStays also when it was written after it was found.
func TestTheValueOfALockStays(t *testing.T) {
	p := newPlace(t)
	id := p.session("job-v", "release")
	p.acquire("locks/v", id)
	c := opened(t, p.spec("ReleaseLock", "locks/v", map[string]string{"SessionName": "job-v"}), p.deps(p.Token))
	r := found(t, c)
	p.must("PUT", "kv/locks/v?flags=9", "written later")
	if got := cleantest.Verdict(c.Remove(t.Context(), r)); got != "removed" {
		t.Fatal(got)
	}
	if k := p.key("locks/v"); k == nil || k.Session != "" || string(k.Value) != "written later" || k.Flags != 9 {
		t.Errorf("the key is %+v", k)
	}
}

// TestAChangeInBetween is a transaction that finds a key otherwise than it was
// read.
func TestAChangeInBetween(t *testing.T) {
	const stale = `{"Errors":[{"OpIndex":0,"What":"failed index check"}]}`
	const denied = `{"Errors":[{"OpIndex":0,"What":"Permission denied"}]}`
	tests := []struct {
		name string
		txn  []answer
		want string
	}{
		{"once", []answer{{409, stale}, {200, `{"Results":[]}`}}, "removed"},
		{"for ever", []answer{{409, stale}}, "owed still-written"},
		{"not allowed", []answer{{409, denied}}, "owed permission"},
		{"a page", []answer{{200, "<html>"}}, "owed error"},
		{"refused", []answer{{403, "Permission denied"}}, "owed permission"},
		{"no leader", []answer{{500, "No cluster leader"}}, "owed error"},
	}
	for _, tt := range tests {
		f := newFake(t)
		f.on("/v1/kv/locks/x", answer{200, fmt.Sprintf(`[{"Key":"locks/x","Session":%q,"ModifyIndex":5,"Flags":7,"Value":"dg=="}]`, anID)})
		f.on("/v1/session/info/"+anID, answer{200, fmt.Sprintf(`[{"ID":%q,"Name":"job","Behavior":"release"}]`, anID)})
		f.on("/v1/txn", tt.txn...)
		spec := residue.Spec{Selector: "ReleaseLock", Value: "locks/x", Options: map[string][]string{"Address": {f.URL}, "SessionName": {"job"}}}
		if got := clean(t, opened(t, spec, residue.Deps{})); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		for _, line := range f.requests() {
			if strings.Contains(line, "/v1/txn") && !(strings.Contains(line, `"check-index"`) && strings.Contains(line, `"check-session"`) && strings.Contains(line, `"unlock"`)) {
				t.Errorf("%s: %s", tt.name, line)
			}
		}
	}
}

// TestSemaphores are places that are not held the usual way.
func TestSemaphores(t *testing.T) {
	p := newPlace(t)
	deps := p.deps(p.Token)
	lock := func(prefix, flag, text string) { p.must("PUT", "kv/"+prefix+"/.lock?flags="+flag, text) }
	waiter, holder := p.session("job-w", "delete"), p.session("job-h", "delete")
	p.must("PUT", "kv/slots/w/"+waiter+"?flags="+semaphoreFlag+"&acquire="+waiter, "")
	lock("slots/w", semaphoreFlag, fmt.Sprintf(`{"Limit":1,"Holders":{%q:true}}`, holder))
	lock("slots/broken", semaphoreFlag, "{")
	lock("slots/other", "0", fmt.Sprintf(`{"Holders":{%q:true}}`, holder))
	tests := []struct{ prefix, name, session, want string }{
		{"slots/w", "job-w", "", "removed"}, // it only waits
		{"slots/w", "", holder, "removed"},  // its own key is gone
		{"slots/w", "", holder, "nothing"},
		{"slots/none", "job-w", "", "nothing"},
		{"slots/broken", "job-w", "", "find: owed changed"},
		{"slots/other", "", holder, "nothing"}, // no semaphore
	}
	for _, tt := range tests {
		spec := p.spec("ReleaseSemaphore", tt.prefix, map[string]string{"SessionName": tt.name})
		if tt.session != "" {
			delete(spec.Options, "SessionName")
			spec = tracked(t, spec, "semaphore", tt.session, deps)
		}
		if got := clean(t, opened(t, spec, deps)); got != tt.want {
			t.Errorf("%s of %s%s: %s, want %s", tt.prefix, tt.name, tt.session, got, tt.want)
		}
	}
	if text := string(p.key("slots/w/.lock").Value); text != `{"Holders":{},"Limit":1}` {
		t.Errorf("the semaphore is %s", text)
	}
	if p.key("slots/w/"+waiter) != nil || p.key("slots/other/.lock") == nil {
		t.Error("the waiter's key is there, or another's is not")
	}
}
