package cleantest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
)

// trial is one residue in the world, and its neighbours.
type trial struct {
	Subject
	tb     testing.TB
	fail   func(format string, args ...any) // a property does not hold; the trial goes on
	ref    string
	intact func() error
}

func newTrial(tb testing.TB, s Subject) *trial {
	if s.Patience == 0 {
		s.Patience = 10 * time.Second
	}
	if s.Is == nil {
		s.Is = func(found residue.Residue, ref string) bool { return found.Ref == ref }
	}
	tr := &trial{Subject: s, tb: tb, fail: tb.Errorf, intact: func() error { return nil }}
	tr.ref = s.Make(tb)
	if s.Decoy != nil {
		tr.intact = s.Decoy(tb, tr.ref)
	}
	if !s.Exists(tb, tr.ref) {
		tb.Fatalf("Make(%q): Exists does not see it", tr.ref)
	}
	return tr
}

// selector is the table's row of the spec under test.
func (tr *trial) selector(spec residue.Spec) residue.Selector {
	if spec.Selector == "" {
		return tr.Kind.Selectors[0]
	}
	sel, ok := tr.Kind.SelectorOf(spec)
	if !ok {
		tr.tb.Fatalf("kind %q has no selector %q", tr.Kind.Name, spec.Selector)
	}
	return sel
}

// spec is the plan's spec for the residue, as the ledger would hold it.
func (tr *trial) spec() residue.Spec {
	spec := residue.Spec{Value: tr.ref}
	if tr.Spec != nil {
		spec = tr.Spec(tr.ref)
	}
	sel := tr.selector(spec)
	spec.Kind, spec.Selector, spec.Phase, spec.Rank = tr.Kind.Name, sel.Key, sel.Phase, sel.Rank
	spec.Identify()
	tr.see(spec)
	return spec
}

// deps are fresh dependencies of a hook.
func (tr *trial) deps() residue.Deps {
	var d residue.Deps
	if tr.Deps != nil {
		d = tr.Deps(tr.tb)
	}
	return complete(d)
}

func complete(d residue.Deps) residue.Deps {
	if d.Secret == nil {
		d.Secret = func(ref string) (secret.Text, error) {
			return secret.Text{}, fmt.Errorf("no secret %q in this test", ref)
		}
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	return d
}

// open makes a cleaner; a subject that can't be opened ends the trial.
func (tr *trial) open(spec residue.Spec, deps residue.Deps) residue.Cleaner {
	c, err := tr.Kind.Open(spec, deps)
	if err != nil {
		tr.see(err)
		tr.tb.Fatalf("open %q: %v", tr.ref, err)
	}
	tr.tb.Cleanup(func() { residue.Close(c) })
	return c
}

// find is Find, and the one residue among its results that is ours; ok is
// false when it is not there.
func (tr *trial) find(ctx context.Context, c residue.Cleaner) (found residue.Residue, ok bool, err error) {
	all, err := c.Find(ctx)
	tr.see(err)
	for _, r := range all {
		tr.see(r)
		if !tr.Is(r, tr.ref) {
			continue
		}
		if ok {
			tr.fail("found %q twice", tr.ref)
		}
		found, ok = r, true
		found.Identify()
	}
	return found, ok, err
}

// mustFind ends the trial when the residue is not found.
func (tr *trial) mustFind(c residue.Cleaner) residue.Residue {
	r, ok, err := tr.find(context.Background(), c)
	if err != nil || !ok {
		tr.tb.Fatalf("find %q: found %v, error %v", tr.ref, ok, err)
	}
	return r
}

// remove is Remove, judged by class: "removed", "gone" or "owed".
func (tr *trial) remove(ctx context.Context, c residue.Cleaner, r residue.Residue) (string, error) {
	err := c.Remove(ctx, r)
	tr.see(err)
	e := residue.AsError(err)
	switch {
	case e == nil:
		return "removed", nil
	case e.Class == residue.Gone:
		return "gone", err
	case e.Class == residue.Retry, e.Class == residue.Unreachable:
		return "owed", err
	}
	return "closed", err
}

// see fails when a secret stands in an error or in the JSON of a value.
func (tr *trial) see(v any) {
	if v == nil {
		return
	}
	text, err := json.Marshal(v)
	if err != nil {
		tr.fail("marshal %T: %v", v, err)
	}
	all := string(text) + fmt.Sprintf("%+v", v)
	for e, ok := v.(error); ok && e != nil; e = errors.Unwrap(e) {
		all += e.Error()
	}
	for _, s := range tr.Secrets {
		if strings.Contains(all, s) {
			tr.fail("a secret stands in a %T", v)
		}
	}
}

// gone and there compare the world with what was said of it.
func (tr *trial) gone(when string) {
	if tr.Exists(tr.tb, tr.ref) {
		tr.fail("%s: %q is still there", when, tr.ref)
	}
	tr.decoys(when)
}

func (tr *trial) there(when string) {
	if !tr.Exists(tr.tb, tr.ref) {
		tr.fail("%s: %q is not there any more", when, tr.ref)
	}
	tr.decoys(when)
}

func (tr *trial) decoys(when string) {
	if err := tr.intact(); err != nil {
		tr.fail("%s: a decoy: %v", when, err)
	}
}
