package cleantest

import (
	"context"

	"job-cleanup/pkg/residue"
)

func needTrack(s *Subject) string {
	sel := s.Kind.Selectors[0]
	if s.Spec != nil {
		if named, ok := s.Kind.Selector(s.Spec("").Selector); ok {
			sel = named
		}
	}
	if sel.NoTrack {
		return "the selector can't be tracked"
	}
	return ""
}

// tracked records the residue as track does, proof included where the kind has
// some, and cleans it in a later process.
func tracked(tr *trial) {
	spec := tr.spec()
	spec.Tracked = &residue.Residue{Type: tr.selector(spec).Type, Ref: tr.ref}
	spec.Value = tr.ref
	if p, ok := tr.open(spec, tr.deps()).(residue.Prover); ok {
		proven, err := p.Prove(context.Background())
		tr.see(err)
		if err != nil {
			tr.tb.Fatalf("prove %q: %v", tr.ref, err)
		}
		if proven.Type != spec.Tracked.Type || proven.Ref != spec.Tracked.Ref {
			tr.fail("proved %q %q, asked for %q %q", proven.Type, proven.Ref, spec.Tracked.Type, spec.Tracked.Ref)
		}
		spec.Tracked = &proven
	}
	spec.Tracked.Identify()
	spec.Identify()
	tr.see(spec)
	tr.there("tracked")
	l := tr.reread(spec, *spec.Tracked)
	c := tr.open(l.Spec, tr.deps())
	r := tr.mustFind(c)
	if all, _ := c.Find(context.Background()); len(all) != 1 {
		tr.fail("a tracked spec found %d residues, want its own only", len(all))
	}
	if got, err := tr.remove(context.Background(), c, r); got != "removed" {
		tr.fail("remove what was tracked: %s, %v", got, err)
	}
	tr.gone("tracked and removed")
}

func needServer(s *Subject) string {
	if s.Down == nil {
		return "the subject has no server"
	}
	return ""
}

// down runs f while the server is down, and always brings it back.
func (tr *trial) down(f func()) {
	up := false
	tr.tb.Cleanup(func() {
		if !up {
			tr.Up(tr.tb)
		}
	})
	tr.Down(tr.tb)
	f()
	tr.Up(tr.tb)
	up = true
}

func serverDown(tr *trial) {
	c := tr.open(tr.spec(), tr.deps())
	r := tr.mustFind(c)
	tr.down(func() {
		ctx, cancel := context.WithTimeout(context.Background(), tr.Patience)
		defer cancel()
		tr.soon("find on a dead server", func() {
			if _, ok, err := tr.find(ctx, c); err == nil {
				tr.fail("find on a dead server: found %v and no error", ok)
			}
		})
		tr.soon("remove on a dead server", func() {
			if got, err := tr.remove(ctx, c, r); got != "owed" {
				tr.fail("remove on a dead server: %s, %v; want owed", got, err)
			}
		})
	})
	tr.there("the server was down")
}

func serverBack(tr *trial) {
	spec := tr.spec()
	c := tr.open(spec, tr.deps())
	r := tr.mustFind(c)
	tr.down(func() {
		ctx, cancel := context.WithTimeout(context.Background(), tr.Patience)
		defer cancel()
		if got, err := tr.remove(ctx, c, r); got != "owed" {
			tr.fail("remove on a dead server: %s, %v; want owed", got, err)
		}
	})
	l := tr.reread(spec, r)
	if got, err := tr.remove(context.Background(), tr.open(l.Spec, tr.deps()), l.Residue); got != "removed" {
		tr.fail("remove when the server is back: %s, %v", got, err)
	}
	tr.gone("the server is back")
}

func needCredentials(s *Subject) string {
	if s.WrongCredentials == nil {
		return "the subject has no WrongCredentials"
	}
	return ""
}

func wrongCredentials(tr *trial) {
	spec := tr.spec()
	r := tr.mustFind(tr.open(spec, tr.deps()))
	c, err := tr.Kind.Open(spec, complete(tr.WrongCredentials(tr.tb)))
	tr.see(err)
	if err != nil {
		return // refused before anything was sent: that is fine
	}
	defer residue.Close(c)
	if _, ok, err := tr.find(context.Background(), c); err == nil && !ok {
		tr.fail("find with wrong credentials says that nothing is there")
	}
	if got, err := tr.remove(context.Background(), c, r); got != "owed" {
		tr.fail("remove with wrong credentials: %s, %v; want owed", got, err)
	}
	tr.there("wrong credentials")
}
