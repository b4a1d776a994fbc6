// Package cleantest is the conformance suite of the kinds: what the engine
// relies on in every cleaner, checked in the kind's real world (files, a
// server that runs), not against a mock.
//
// A kind describes how residue of its sort comes to be and how one sees that
// it is there, in a Subject, and calls Run:
//
//	func TestConformance(t *testing.T) {
//		cleantest.Run(t, cleantest.Subject{
//			Kind:   path.Kind,
//			Make:   func(t testing.TB) string { … return dir },
//			Exists: func(t testing.TB, ref string) bool { … },
//			Decoy:  func(t testing.TB, ref string) func() error { … },
//		})
//	}
//
// A kind with several selectors calls Run once for each. A residue that needs
// a server adds Down and Up, and WrongCredentials; they are checked when given.
package cleantest

import (
	"testing"
	"time"

	"job-cleanup/pkg/residue"
)

// Subject is one selector of a kind and the world it works in. Kind, Make and
// Exists are needed, the rest has the default that its comment tells.
type Subject struct {
	// Kind is the kind under test.
	Kind *residue.Kind

	// Spec selects the residue that Make returned. Only Selector, Value and
	// Options have to be set, the rest comes from the kind's table. By default
	// it is the kind's first selector with ref as its value. The suite also
	// calls it with an empty ref, to learn the selector.
	Spec func(ref string) residue.Spec

	// Deps makes fresh dependencies, as a new process would have them. Unset
	// Secret and Now are filled in; Env is what a hook would see.
	Deps func(t testing.TB) residue.Deps

	// Make leaves one residue behind, as a job that died would, and returns
	// how a person names it. Every call makes another one.
	Make func(t testing.TB) (ref string)

	// Exists looks, without the kind's code, whether that residue is there.
	Exists func(t testing.TB, ref string) bool

	// Remove takes it away by other hands than the kind's. When nil, the
	// check that this counts as absent is skipped.
	Remove func(t testing.TB, ref string)

	// Decoy puts somebody else's things beside ref (a longer name with the
	// same beginning, a live holder's) and returns what tells whether they are
	// all still as they were.
	Decoy func(t testing.TB, ref string) (intact func() error)

	// State is a picture of the whole world of ref (a listing with contents
	// and times). When set, Find must leave it as it was.
	State func(t testing.TB, ref string) string

	// Is reports whether a residue that Find returned is the one of ref; by
	// default their names are equal.
	Is func(found residue.Residue, ref string) bool

	// Blind says that the kind can't tell what is there (a command that is run
	// in any case), so that absent residue is found and removed like any.
	Blind bool

	// Down makes the server unreachable or silent and Up brings it back with
	// all that it held. Both or neither.
	Down, Up func(t testing.TB)

	// WrongCredentials makes dependencies that the server does not accept.
	WrongCredentials func(t testing.TB) residue.Deps

	// Secrets are texts that may stand in no error, no spec and no residue.
	Secrets []string

	// Patience bounds each call that has to return soon: one with a cancelled
	// context, one to a server that is down. By default 10 seconds.
	Patience time.Duration
}

// Run checks the subject, each property in a subtest of its own.
func Run(t *testing.T, s Subject) {
	t.Helper()
	if s.Kind == nil || s.Make == nil || s.Exists == nil || (s.Down == nil) != (s.Up == nil) {
		t.Fatal("subject without Kind, Make or Exists, or with one of Down and Up only")
	}
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			if reason := c.skip(&s); reason != "" {
				t.Skip(reason)
			}
			c.run(newTrial(t, s))
		})
	}
}
