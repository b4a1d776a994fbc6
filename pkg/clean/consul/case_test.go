package consul_test

import (
	"context"
	"net"
	"testing"
	"time"

	"job-cleanup/pkg/clean/cleantest"
	"job-cleanup/pkg/clean/consul"
	"job-cleanup/pkg/residue"
)

// tracked makes the spec of a tracked residue, as the ledger has it after
// Prove.
func tracked(t *testing.T, spec residue.Spec, kind, session string, deps residue.Deps) residue.Spec {
	t.Helper()
	spec.Tracked = &residue.Residue{Type: kind, Ref: spec.Value}
	if session != "" {
		spec.Tracked.Proof = map[string]string{"session": session}
	}
	if prover, ok := opened(t, spec, deps).(residue.Prover); ok {
		proven, err := prover.Prove(t.Context())
		if err != nil || proven.Ref != spec.Value || proven.Type != kind {
			t.Fatalf("proved %v, %v", proven, err)
		}
		spec.Tracked = &proven
	}
	return spec
}

func TestCase06_anIntentIsFoundByName(t *testing.T) {
	p := newPlace(t)
	deps := p.deps(p.Token)
	lock := tracked(t, p.spec("", "locks/later", map[string]string{"SessionName": "job-06"}), "lock", "", deps)
	session := tracked(t, p.spec("", "job-06", nil), "session", "", deps)
	never := tracked(t, p.spec("", "locks/never", map[string]string{"SessionName": "job-06"}), "lock", "", deps)
	if len(lock.Tracked.Proof) > 0 || len(session.Tracked.Proof) > 0 {
		t.Fatalf("proof of what is not there: %v, %v", lock.Tracked, session.Tracked)
	}
	for _, spec := range []residue.Spec{lock, session} {
		if got := clean(t, opened(t, spec, deps)); got != "nothing" {
			t.Errorf("%q before it was acquired: %s", spec.Value, got)
		}
	}
	id := p.session("job-06", "release") // after the cancel, so to say
	p.acquire("locks/later", id)
	for _, spec := range []residue.Spec{lock, session} {
		if got := clean(t, opened(t, spec, deps)); got != "removed" {
			t.Errorf("%q: %s", spec.Value, got)
		}
	}
	if got := clean(t, opened(t, never, deps)); got != "nothing" {
		t.Errorf("never acquired: %s", got)
	}
	if k := p.key("locks/later"); k == nil || k.Session != "" || p.exists(id) {
		t.Errorf("the lock is %v, its session is there: %v", k, p.exists(id))
	}
}

func TestTrackRecordsTheSession(t *testing.T) {
	p := newPlace(t)
	deps := p.deps(p.Token)
	id := p.session("job-t", "release")
	p.acquire("locks/t", id)
	for _, spec := range []residue.Spec{
		tracked(t, p.spec("", "locks/t", map[string]string{"SessionName": "job-t"}), "lock", "", deps),
		tracked(t, p.spec("", "locks/t", nil), "lock", id, deps),
		tracked(t, p.spec("", "job-t", nil), "session", "", deps),
	} {
		if spec.Tracked.Proof["session"] != id {
			t.Errorf("%s %q: proof %v, want %s", spec.Tracked.Type, spec.Value, spec.Tracked.Proof, id)
		}
	}
}

// silent is the address of a server that accepts and never answers.
func silent(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().String()
}

// some is a spec of each selector.
func some(address string) []residue.Spec {
	var specs []residue.Spec
	for selector, value := range map[string]string{"ReleaseLock": "locks/x", "ReleaseSemaphore": "slots/x", "DestroySession": "job-x", "DeleteKeys": "jobs/x/"} {
		specs = append(specs, residue.Spec{Selector: selector, Value: value, Options: map[string][]string{
			"Address": {address}, "SessionName": {"job-x"},
		}})
	}
	return specs
}

const anID = "11111111-2222-3333-4444-555555555555"

func TestCase10_aSilentServerIsATimeout(t *testing.T) {
	for _, spec := range some(silent(t)) {
		c := opened(t, spec, residue.Deps{})
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		began := time.Now()
		_, findErr := c.Find(ctx)
		removeErr := c.Remove(ctx, residue.Residue{Proof: map[string]string{"session": anID}})
		cancel()
		if cleantest.Verdict(findErr) != "unreachable timeout" || cleantest.Verdict(removeErr) != "unreachable timeout" {
			t.Errorf("%s: find %v, remove %v; want timeouts", spec.Selector, findErr, removeErr)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s: took %v", spec.Selector, took)
		}
	}
}

func TestCase12_anUnreachableServerIsOwed(t *testing.T) {
	f := newFake(t)
	f.Close()
	for _, spec := range some(f.URL) {
		c := opened(t, spec, residue.Deps{})
		if got := clean(t, c); got != "find: unreachable unreachable" {
			t.Errorf("%s: %s", spec.Selector, got)
		}
		err := c.Remove(t.Context(), residue.Residue{Proof: map[string]string{"session": anID}})
		if got := cleantest.Verdict(err); got != "unreachable unreachable" {
			t.Errorf("%s: remove: %s", spec.Selector, got)
		}
	}
}

func TestCase18_aLookUpThatFailsIsOwed(t *testing.T) {
	for _, status := range []int{500, 502, 503, 429, 400, 404, 301, 307} {
		f := newFake(t)
		f.on("", answer{status, "no cluster leader"})
		for _, spec := range some(f.URL) {
			want := "find: owed error"
			if status == 404 && spec.Selector != "DestroySession" {
				want = "nothing" // that is how a key that is not there is answered
			}
			if got := clean(t, opened(t, spec, residue.Deps{})); got != want {
				t.Errorf("%s, look-up answers %d: %s", spec.Selector, status, got)
			}
		}
		for _, line := range f.requests() {
			if line[:3] != "GET" {
				t.Errorf("look-up answers %d: %s", status, line)
			}
		}
	}
}

func TestCase35_theKeyThenItsSession(t *testing.T) {
	p := newPlace(t)
	deps := p.deps(p.Token)
	rank := func(key string) int { s, _ := consul.Kind.Selector(key); return int(s.Phase)*10 + s.Rank }
	if rank("ReleaseLock") >= rank("DestroySession") || rank("ReleaseSemaphore") >= rank("DestroySession") || rank("DeleteKeys") >= rank("ReleaseLock") {
		t.Error("sessions go before their locks")
	}
	next := p.session("next", "release")
	for _, order := range []struct {
		name     string
		first    string
		acquired bool
	}{{"right", "ReleaseLock", true}, {"wrong", "DestroySession", false}} {
		key, name := "locks/"+order.name, "job-"+order.name
		id := p.session(name, "release")
		p.acquire(key, id)
		specs := map[string]residue.Spec{
			"ReleaseLock":    p.spec("ReleaseLock", key, map[string]string{"SessionName": name}),
			"DestroySession": p.spec("DestroySession", name, nil),
		}
		if got := clean(t, opened(t, specs[order.first], deps)); got != "removed" {
			t.Fatalf("%s order: %s", order.name, got)
		}
		delete(specs, order.first)
		for _, spec := range specs {
			if got := clean(t, opened(t, spec, deps)); got != "removed" && order.acquired {
				t.Errorf("%s order: %s", order.name, got)
			}
		}
		if got := p.acquire(key, next); got != order.acquired || p.exists(id) {
			t.Errorf("%s order: the next job gets the lock: %v; the session is there: %v", order.name, got, p.exists(id))
		}
	}
	for _, name := range []string{anID, "job-unknown"} {
		spec := p.spec("DestroySession", name, nil)
		if got := clean(t, opened(t, spec, deps)); got != "nothing" {
			t.Errorf("an unknown session %q: %s", name, got)
		}
		err := opened(t, spec, deps).Remove(t.Context(), residue.Residue{Ref: name, Proof: map[string]string{"session": anID}})
		if got := cleantest.Verdict(err); got != "gone" {
			t.Errorf("destroy an unknown session: %s", got)
		}
	}
}

func TestCase46_trackedUsesNoTokenOfOurs(t *testing.T) {
	f := newFake(t)
	deps := residue.Deps{}
	for _, ref := range []string{"stash:0123456789abcdef", "env:CONSUL_HTTP_TOKEN", "credential:consul"} {
		for _, kind := range []string{"lock", "semaphore", "session", "keys"} {
			spec := residue.Spec{Value: "a/b/", Tracked: &residue.Residue{Type: kind, Ref: "a/b/", Proof: map[string]string{"session": anID}},
				Options: map[string][]string{"Address": {f.URL}, "Token": {ref}}}
			_, err := consul.Kind.Open(spec, deps)
			if got := cleantest.Verdict(err); got != "refused protected" {
				t.Errorf("%s with %s: %v", kind, ref, err)
			}
		}
	}
	if len(f.requests()) > 0 {
		t.Errorf("requests: %q", f.requests())
	}
}
