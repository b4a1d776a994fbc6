package cleantest

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"job-cleanup/pkg/residue"
)

// check is one property. need says what a subject lacks for it, "" if nothing.
type check struct {
	name string
	run  func(*trial)
	need func(*Subject) string
}

func (c check) skip(s *Subject) string {
	if c.need == nil {
		return ""
	}
	return c.need(s)
}

var checks = []check{
	{name: "found and removed", run: foundAndRemoved},
	{name: "removed again is absent", run: removedAgain},
	{name: "gone by other hands is absent", run: goneByOtherHands, need: needRemove},
	{name: "replayed from its line alone", run: replayed},
	{name: "tracked", run: tracked, need: needTrack},
	{name: "a dry run changes nothing", run: dryRun},
	{name: "cancelled is soon and harmless", run: cancelled},
	{name: "two at once are safe", run: twoAtOnce},
	{name: "server down is owed", run: serverDown, need: needServer},
	{name: "server back is removed", run: serverBack, need: needServer},
	{name: "wrong credentials are owed", run: wrongCredentials, need: needCredentials},
}

func foundAndRemoved(tr *trial) {
	c := tr.open(tr.spec(), tr.deps())
	r := tr.mustFind(c)
	if want := tr.selector(tr.spec()).Type; r.Type != want {
		tr.fail("found type %q, want the selector's %q", r.Type, want)
	}
	if got, err := tr.remove(context.Background(), c, r); got != "removed" {
		tr.fail("remove: %s, %v", got, err)
	}
	tr.gone("removed")
}

// absent checks that Find and Remove agree that nothing is there.
func (tr *trial) absent(c residue.Cleaner, r residue.Residue) {
	if _, ok, err := tr.find(context.Background(), c); err != nil || ok != tr.Blind {
		tr.fail("find what is gone: found %v, error %v", ok, err)
	}
	want := "gone"
	if tr.Blind {
		want = "removed"
	}
	if got, err := tr.remove(context.Background(), c, r); got != want {
		tr.fail("remove what is gone: %s, %v; want %s", got, err, want)
	}
	tr.decoys("removed again")
}

func removedAgain(tr *trial) {
	c := tr.open(tr.spec(), tr.deps())
	r := tr.mustFind(c)
	if got, err := tr.remove(context.Background(), c, r); got != "removed" {
		tr.fail("remove: %s, %v", got, err)
	}
	tr.absent(c, r)
	tr.absent(tr.open(tr.spec(), tr.deps()), r)
}

func needRemove(s *Subject) string {
	if s.Remove == nil {
		return "the subject has no Remove"
	}
	return ""
}

func goneByOtherHands(tr *trial) {
	c := tr.open(tr.spec(), tr.deps())
	r := tr.mustFind(c)
	tr.Remove(tr.tb, tr.ref)
	tr.gone("removed by other hands")
	tr.absent(c, r)
}

// line is what a ledger keeps of a residue.
type line struct {
	Spec    residue.Spec
	Residue residue.Residue
}

// reread sends a spec and a residue through their JSON.
func (tr *trial) reread(spec residue.Spec, r residue.Residue) line {
	text, err := json.Marshal(line{spec, r})
	if err != nil {
		tr.tb.Fatal(err)
	}
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		tr.tb.Fatal(err)
	}
	return l
}

func replayed(tr *trial) {
	spec := tr.spec()
	l := tr.reread(spec, tr.mustFind(tr.open(spec, tr.deps())))
	deps := tr.deps()
	deps.Env, deps.Output = nil, nil
	c := tr.open(l.Spec, deps)
	if again := tr.mustFind(c); again.ID != l.Residue.ID {
		tr.fail("found again in another process: id %s, before %s", again.ID, l.Residue.ID)
	}
	if got, err := tr.remove(context.Background(), c, l.Residue); got != "removed" {
		tr.fail("remove from the line alone: %s, %v", got, err)
	}
	tr.gone("removed from the line alone")
}

func dryRun(tr *trial) {
	picture := func() string { return "" }
	if tr.State != nil {
		picture = func() string { return tr.State(tr.tb, tr.ref) }
	}
	before := picture()
	c := tr.open(tr.spec(), tr.deps())
	first, second := tr.mustFind(c), tr.mustFind(c)
	if first.ID != second.ID {
		tr.fail("two looks gave ids %s and %s", first.ID, second.ID)
	}
	if after := picture(); after != before {
		tr.fail("looking changed the world from\n%s\nto\n%s", before, after)
	}
	tr.there("only looked")
}

// soon fails when f takes longer than the subject's patience.
func (tr *trial) soon(what string, f func()) {
	start := time.Now()
	f()
	if took := time.Since(start); took > tr.Patience {
		tr.fail("%s took %v, more than %v", what, took, tr.Patience)
	}
}

// truthful fails when a removal that says done was not, or the reverse.
func (tr *trial) truthful(when, got string) {
	if got == "removed" || got == "gone" {
		tr.gone(when + ", said " + got)
		return
	}
	tr.there(when + ", said " + got)
}

func cancelled(tr *trial) {
	c := tr.open(tr.spec(), tr.deps())
	r := tr.mustFind(c)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	tr.soon("find with a cancelled context", func() {
		if _, ok, err := tr.find(ctx, c); err == nil && !ok {
			tr.fail("find with a cancelled context says that nothing is there")
		}
	})
	tr.soon("remove with a cancelled context", func() {
		got, err := tr.remove(ctx, c, r)
		if got == "closed" {
			tr.fail("remove with a cancelled context: %v, want owed", err)
		}
		tr.truthful("cancelled", got)
	})
	got, err := tr.remove(context.Background(), c, r)
	if got != "removed" && got != "gone" {
		tr.fail("remove after a cancelled one: %s, %v", got, err)
	}
	tr.gone("removed after a cancelled one")
}

func twoAtOnce(tr *trial) {
	spec := tr.spec()
	r := tr.mustFind(tr.open(spec, tr.deps()))
	var cleaners []residue.Cleaner // as separate processes would have them
	for range 4 {
		cleaners = append(cleaners, tr.open(spec, tr.deps()))
	}
	errs := make([]error, len(cleaners))
	var all sync.WaitGroup
	for i, c := range cleaners {
		all.Go(func() { errs[i] = c.Remove(context.Background(), r) })
	}
	all.Wait()
	removed := false
	for _, err := range errs {
		tr.see(err)
		e := residue.AsError(err)
		removed = removed || e == nil
		if e != nil && e.Class != residue.Gone && e.Class != residue.Retry {
			tr.fail("one of several at once: %v, want removed, gone or owed", err)
		}
	}
	if !removed {
		tr.fail("none of several at once removed it: %v", errs)
	}
	tr.gone("several at once")
}
