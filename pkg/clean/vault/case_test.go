package vault_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"job-cleanup/pkg/clean/cleantest"
	"job-cleanup/pkg/clean/vault"
	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
)

func TestCase10_aSilentServerIsATimeout(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts, nobody answers
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for _, value := range []string{"self", "accessor:acc", "lease:a/b/c"} {
		spec := residue.Spec{Selector: "Revoke", Value: value, Options: map[string][]string{
			"Address": {"http://" + listener.Addr().String()}, "Token": {"file:/token"},
		}}
		c := opened(t, spec, readers())
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		began := time.Now()
		_, findErr := c.Find(ctx)
		removeErr := c.Remove(ctx, residue.Residue{Ref: "acc"})
		cancel()
		if cleantest.Verdict(findErr) != "unreachable timeout" || residue.AsError(removeErr).Reason != residue.Timeout {
			t.Errorf("%s: find %v, remove %v; want timeouts", value, findErr, removeErr)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s: took %v", value, took)
		}
	}
}

func TestCancelEndsACall(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	spec := residue.Spec{Selector: "Revoke", Value: "self", Options: map[string][]string{
		"Address": {"http://" + listener.Addr().String()}, "Token": {"file:/token"},
	}}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		if conn, err := listener.Accept(); err == nil { // the call is under way
			defer conn.Close()
			_, _ = conn.Read(make([]byte, 1))
			cancel()
			<-t.Context().Done()
		}
	}()
	if _, err := opened(t, spec, readers()).Find(ctx); cleantest.Verdict(err) != "owed cancelled" {
		t.Errorf("find: %v, want cancelled", err)
	}
}

func TestCase12_anUnreachableServerIsOwed(t *testing.T) {
	f := newFake(t)
	f.Close()
	for _, value := range []string{"self", "token", "accessor:acc", "lease:a/b/c"} {
		c := opened(t, f.plan(value), readers())
		if got := clean(t, c); got != "find: unreachable unreachable" {
			t.Errorf("%s: %s", value, got)
		}
		err := c.Remove(t.Context(), residue.Residue{Ref: "acc", Proof: map[string]string{"accessor": "acc"}})
		if got := cleantest.Verdict(err); got != "unreachable unreachable" {
			t.Errorf("%s: remove: %s", value, got)
		}
	}
}

func TestCase18_aLookUpThatFailsIsOwed(t *testing.T) {
	for _, status := range []int{500, 502, 503, 429, 412, 404, 400, 473} {
		f := newFake(t)
		for _, path := range []string{"auth/token/lookup-self", "auth/token/lookup-accessor", "sys/leases/lookup"} {
			f.on(path, answer{status, `{"errors":["internal error"]}`})
		}
		for _, value := range []string{"self", "accessor:acc", "lease:a/b/c"} {
			c := opened(t, f.plan(value), readers())
			if got := clean(t, c); got != "find: owed error" {
				t.Errorf("%s, look-up answers %d: %s", value, status, got)
			}
			err := c.Remove(t.Context(), residue.Residue{Ref: "acc", Proof: map[string]string{"accessor": "acc"}})
			if got := cleantest.Verdict(err); got != "owed error" {
				t.Errorf("%s, look-up answers %d: remove: %s", value, status, got)
			}
		}
		for _, line := range f.requests() {
			if strings.Contains(line, "revoke") {
				t.Errorf("look-up answers %d: %s", status, line)
			}
		}
	}
}

func TestCase31_doneAtTheThirdTry(t *testing.T) {
	f := newFake(t)
	f.on("auth/token/revoke-self",
		answer{503, `{"errors":["Vault is sealed"]}`}, answer{503, `{"errors":["local node not active"]}`}, answer{204, ""})
	r := found(t, opened(t, f.plan("self"), readers()))
	for _, want := range []string{"503: Vault is sealed", "503: local node not active", ""} {
		c := opened(t, f.plan("self"), readers()) // every run is another process
		found(t, c)
		err := c.Remove(t.Context(), r)
		if want == "" && err != nil || want != "" && (cleantest.Verdict(err) != "owed error" || !strings.HasSuffix(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	revokes := 0
	for _, line := range f.requests() {
		if strings.Contains(line, "revoke-self") {
			revokes++
		}
	}
	if revokes != 3 {
		t.Errorf("%d calls in three runs", revokes)
	}
}

func TestCase32_aBatchTokenEndsByItself(t *testing.T) {
	f := newFake(t)
	expires := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	f.on("auth/token/lookup-self", answer{200, `{"request_id":"1","data":{"accessor":"","type":"batch","expire_time":"` + expires.Format(time.RFC3339) + `"}}`})
	c := opened(t, f.plan("self"), readers())
	facts, err := c.(residue.Preparer).Prepare(t.Context())
	if err != nil || facts["type"] != "batch" {
		t.Fatalf("facts %v, %v", facts, err)
	}
	spec := f.plan("self")
	spec.Facts = facts
	asked := len(f.requests())
	for name, c := range map[string]residue.Cleaner{"found out now": c, "known before": opened(t, spec, readers())} {
		if name == "found out now" {
			found(t, c)
			asked = len(f.requests())
		}
		r := residue.Residue{Type: "token", Proof: map[string]string{"type": "batch"}, Expires: expires}
		if name == "known before" {
			r = found(t, c)
		}
		e := residue.AsError(c.Remove(t.Context(), r))
		if e == nil || e.Class != residue.Until || !e.Until.Equal(expires) || !r.Expires.Equal(expires) {
			t.Errorf("%s: %v, until %v; want %v", name, e, e.Until, expires)
		}
		if n := len(f.requests()); n != asked {
			t.Errorf("%s: %d requests more than needed", name, n-asked)
		}
	}
	late := readers()
	late.Now = func() time.Time { return expires.Add(time.Second) }
	if got := clean(t, opened(t, spec, late)); got != "gone" {
		t.Errorf("after its end: %s", got)
	}
}

// TestCase46 is a record that a job wrote: whatever it names, nothing is sent
// with an identity that is not the job's own.
func TestCase46_trackedUsesNoIdentityOfOurs(t *testing.T) {
	f := newFake(t)
	asked := map[string]bool{}
	deps := residue.Deps{Secret: func(ref string) (secret.Text, error) {
		asked[ref] = true
		return secret.New("ours"), nil
	}}
	for _, kind := range []string{"token", "lease"} {
		for _, options := range []map[string][]string{
			{"Identity": {"file:/root/identity"}},
			{"Identity": {"file:/root/identity"}, "Token": {"file:/job/token"}},
			{"Token": {"stash:0123456789abcdef"}},
			{"Token": {"env:VAULT_TOKEN"}},
			{"Token": {"credential:vault"}},
			{},
		} {
			spec := tracked(f.plan(""), kind, "somebody-elses")
			options["Address"] = spec.Options["Address"]
			spec.Options = options
			_, err := vault.Kind.Open(spec, deps)
			e := residue.AsError(err)
			if e == nil || e.Class != residue.Refused && e.Reason != residue.NoCredentials {
				t.Errorf("%s with %v: %v, want refused", kind, options, err)
			}
		}
	}
	if len(asked) > 0 || len(f.requests()) > 0 {
		t.Errorf("secrets read: %v; requests: %q", asked, f.requests())
	}
}

func TestCase46_theOwnersPolicyIsFinal(t *testing.T) {
	f := newFake(t)
	not := &residue.Error{Class: residue.Refused, Reason: residue.Protected, Err: errors.New("reference not allowed here")}
	deps := residue.Deps{Secret: func(string) (secret.Text, error) { return secret.Text{}, not }}
	if _, err := vault.Kind.Open(tracked(f.plan(""), "token", "acc"), deps); !errors.Is(err, not) {
		t.Errorf("open: %v", err)
	}
	if len(f.requests()) > 0 {
		t.Errorf("requests: %q", f.requests())
	}
}
