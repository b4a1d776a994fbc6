package main

import (
	"strings"
	"testing"

	"job-cleanup/pkg/engine"
	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/manager/managertest"
	"job-cleanup/pkg/residue"
)

// TestWhoseItIs: what can be told from a later invocation's, by proof or by
// the invocation's id in its name, is the invocation's own.
func TestWhoseItIs(t *testing.T) {
	invocation := strings.Repeat("ab", 16)
	proven := map[string]string{"id": "x"}
	spec := func(kind, selector, value string, options ...string) residue.Spec {
		s := residue.Spec{Kind: kind, Selector: selector, Value: value, Options: map[string][]string{}}
		for i := 0; i < len(options); i += 2 {
			s.Options[options[i]] = []string{options[i+1]}
		}
		return s
	}
	tracked := func(s residue.Spec, typ string, proof map[string]string) residue.Spec {
		s.Tracked = &residue.Residue{Type: typ, Ref: s.Value, Proof: proof}
		return s
	}
	for name, tt := range map[string]struct {
		item engine.Item
		want bool
	}{
		"uploads not listed yet":        {engine.Item{Spec: spec("s3", "AbortUploads", "s3://b/jobs/7/")}, false},
		"an upload":                     {engine.Item{Spec: spec("s3", "AbortUploads", "s3://b/jobs/7/"), Resolved: true}, true},
		"a session":                     {engine.Item{Spec: spec("consul", "ReleaseLock", "locks/7"), Resolved: true}, true},
		"a token":                       {engine.Item{Spec: spec("vault", "Revoke", "self"), Resolved: true}, true},
		"a path":                        {engine.Item{Spec: spec("path", "Remove", "/var/tmp/7"), Resolved: true}, false},
		"keys below a prefix":           {engine.Item{Spec: spec("redis", "DeleteKeys", "jobs:7:"), Resolved: true}, false},
		"keys of the invocation":        {engine.Item{Spec: spec("redis", "DeleteKeys", "jobs:"+invocation+":")}, true},
		"keys of Consul":                {engine.Item{Spec: spec("consul", "DeleteKeys", "jobs/7/"), Resolved: true}, false},
		"a lock by value":               {engine.Item{Spec: spec("redis", "ReleaseLock", "lock", "Value", "job-7"), Resolved: true}, false},
		"a lock of the invocation":      {engine.Item{Spec: spec("redis", "ReleaseLock", "lock", "Value", "job-"+invocation), Resolved: true}, true},
		"a lock by a file":              {engine.Item{Spec: spec("redis", "ReleaseLock", "lock", "Token", "file:/"+invocation), Resolved: true}, false},
		"a queue":                       {engine.Item{Spec: spec("amqp", "DeleteQueue", "q-7"), Resolved: true}, false},
		"a schema":                      {engine.Item{Spec: spec("postgres", "DropSchema", "s_7"), Resolved: true}, false},
		"rows":                          {engine.Item{Spec: spec("postgres", "DeleteFrom", "a.b", "Column", "j", "Equals", "7"), Resolved: true}, false},
		"rows of the invocation":        {engine.Item{Spec: spec("postgres", "DeleteFrom", "a.b", "Column", "j", "Equals", invocation), Resolved: true}, true},
		"a prepared transaction":        {engine.Item{Spec: spec("postgres", "RollbackPrepared", "g-7"), Resolved: true}, true},
		"a command with the invocation": {engine.Item{Spec: spec("command", "Run", "/bin/clean "+invocation), Resolved: true}, false},
		"a tracked path":                {engine.Item{Spec: tracked(spec("path", "Remove", "/var/tmp/7"), "path", proven)}, true},
		"a path to be":                  {engine.Item{Spec: tracked(spec("path", "Remove", "/var/tmp/7"), "path", nil)}, false},
		"tracked keys":                  {engine.Item{Spec: tracked(spec("redis", "DeleteKeys", "jobs:7:"), "keys", proven)}, false},
		"a tracked session":             {engine.Item{Spec: tracked(spec("consul", "DestroySession", "x"), "session", proven)}, true},
		"a tracked token, by its file":  {engine.Item{Spec: tracked(spec("vault", "Revoke", "self"), "token", nil)}, false},
	} {
		if got := owned(tt.item, invocation); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
		if owned(tt.item, "7") != (tt.want && !strings.Contains(name, "of the invocation")) {
			t.Errorf("%s, with a short id: %v", name, !tt.want)
		}
	}
}

// TestSecretsThatTell: whose a token or a lock is, a later hook can't tell by
// what stands in a file now.
func TestSecretsThatTell(t *testing.T) {
	token := map[string][]string{"Token": {"file:/run/x"}}
	for name, tt := range map[string]struct {
		debt ledger.Debt
		want bool
	}{
		"a token by its file":  {ledger.Debt{Spec: residue.Spec{Kind: "vault", Selector: "Revoke", Options: token}}, true},
		"a lock by its file":   {ledger.Debt{Spec: residue.Spec{Kind: "redis", Selector: "ReleaseLock", Options: token}}, true},
		"a lock by its value":  {ledger.Debt{Spec: residue.Spec{Kind: "redis", Selector: "ReleaseLock"}}, false},
		"a token that is seen": {ledger.Debt{Spec: residue.Spec{Kind: "vault", Selector: "Revoke", Options: token}, Residue: &residue.Residue{}}, false},
		"a login":              {ledger.Debt{Spec: residue.Spec{Kind: "consul", Selector: "ReleaseLock", Options: token}}, false},
	} {
		if got := bySecret(tt.debt); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestSweepLooksAgainAtTheUnit: the unit starts while a sweep is at work. What a
// server has under its names is then the new invocation's.
func TestSweepLooksAgainAtTheUnit(t *testing.T) {
	calls := 0
	named := &residue.Kind{Name: "named", Selectors: []residue.Selector{{Key: "Do", Type: "named", ByName: true}},
		Open: func(residue.Spec, residue.Deps) (residue.Cleaner, error) { return meddler{func() { calls++ }}, nil }}
	var w *swept
	w = newSwept(t, func() {
		w.bus.Put(managertest.Unit{Name: "late.service", Active: "activating", Sub: "start", Invocation: strings.Repeat("2", 32)})
	}, named)
	records := []ledger.Record{
		ledger.NewSpec(w.spec("meddle", "Do", "x", residue.Processes)), ledger.NewSpec(w.spec("named", "Do", "y", residue.Data)),
	}
	w.sweep(records...)
	if calls != 0 {
		t.Error("what may be the new invocation's was looked for")
	}
	if owed := owedBelow(t, w.state); len(owed) != 1 || owed[0].Reason != residue.InUse {
		t.Errorf("owed is %+v", owed)
	}
	w.bus.Put(managertest.Unit{Name: "late.service", Active: "inactive", Sub: "dead", Invocation: strings.Repeat("2", 32)})
	w.sweep()
	if owed := owedBelow(t, w.state); calls != 1 || len(owed) != 0 {
		t.Errorf("%d calls, owed is %+v", calls, owed)
	}
}
