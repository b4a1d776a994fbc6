package ledger

import (
	"testing"
	"time"
)

// modified is the time that the listing tells for the one ledger of a store.
func modified(t *testing.T, s *Store) time.Time {
	t.Helper()
	for e, err := range s.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		return e.Modified
	}
	t.Fatal("nothing is listed")
	return time.Time{}
}

// TestRest: the mark of a ledger that may rest goes with anything that is
// written, by whomever, and is not made over what was not read.
func TestRest(t *testing.T) {
	s, l := ours(t)
	add(t, l, NewSpec(spec("a")))
	until := time.Now().Add(time.Hour).Truncate(time.Second)
	rest := func(l *Ledger) {
		t.Helper()
		if err := l.Rest(t.Context(), until); err != nil {
			t.Fatal(err)
		}
	}
	rest(l)
	if modified(t, s).After(time.Now()) {
		t.Error("it rests, and was never read")
	}
	replay(t, l)
	rest(l)
	if got := modified(t, s); !got.Equal(until) {
		t.Errorf("it rests until %v, want %v", got, until)
	}
	other := open(t, s, "u", "i")
	add(t, other, NewSpec(spec("b")))
	if modified(t, s).After(time.Now()) {
		t.Error("it rests with a new debt")
	}
	rest(l)
	if modified(t, s).After(time.Now()) {
		t.Error("it was made to rest with a debt that was not read")
	}
	replay(t, other)
	rest(other)
	if got := modified(t, s); !got.Equal(until) {
		t.Errorf("it rests until %v, want %v", got, until)
	}
	if len(replay(t, l).Owed()) != 2 {
		t.Error("a debt is lost")
	}
	rest(open(t, s, "u", "gone"))
}
