package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/residue"
)

func TestRest(t *testing.T) {
	last := time.Duration(-1)
	for n := 1; n < 40; n++ {
		shortest, longest := rest(n), rest(n)
		for range 200 {
			span := rest(n)
			shortest, longest = min(shortest, span), max(longest, span)
		}
		switch {
		case n == 1 && longest != 0:
			t.Errorf("what was tried once rests %v", longest)
		case longest > restMost:
			t.Errorf("after %d tries it rests %v", n, longest)
		case n > 1 && n <= 10 && shortest <= last:
			t.Errorf("after %d tries it rests %v, after one try less %v", n, shortest, last)
		case n > 1 && shortest == longest:
			t.Errorf("after %d tries there is no chance in %v", n, longest)
		case n > 11 && shortest < restMost*4/5:
			t.Errorf("after %d tries it rests only %v", n, shortest)
		}
		last = longest
	}
}

// server is a server that counts the calls to it.
type server struct {
	calls atomic.Int64
	up    bool
	busy  bool      // it answers that it can't now
	until time.Time // not zero: it can't revoke what ends by itself then
}

// onServer is residue on a server.
type onServer struct {
	s    *server
	spec residue.Spec
}

func (o onServer) Endpoint() string { return "http://server" }

func (o onServer) Find(context.Context) ([]residue.Residue, error) { return nil, o.call() }

func (o onServer) Remove(context.Context, residue.Residue) error { return o.call() }

func (o onServer) call() error {
	o.s.calls.Add(1)
	switch {
	case o.s.busy:
		return errors.New("answered 503")
	case !o.s.until.IsZero():
		return &residue.Error{Class: residue.Until, Until: o.s.until, Err: errors.New("it can't be revoked")}
	case !o.s.up:
		return residue.Errorf(residue.Unreachable, residue.NoAnswer, "connection refused")
	}
	return nil
}

// withServer lets the program know residue on a server, for one test.
func withServer(t *testing.T, s *server) *program {
	t.Helper()
	useKinds(t, &residue.Kind{Name: "on", Selectors: []residue.Selector{{Key: "Do", Type: "on"}},
		Open: func(spec residue.Spec, _ residue.Deps) (residue.Cleaner, error) { return onServer{s, spec}, nil }})
	return &program{env: environment{}, stdout: io.Discard, stderr: io.Discard, uid: os.Getuid(), gid: os.Getgid()}
}

// lost records jobs of an earlier boot, each with so many debts on the server.
func lost(t *testing.T, state string, jobs, debts int) {
	t.Helper()
	for j := range jobs {
		l, err := storeOfTests(state).Ledger(fmt.Sprintf("on-%d.service", j), "one")
		if err != nil {
			t.Fatal(err)
		}
		job := ledger.Job{Job: residue.Job{Boot: "00000000000000000000000000000001", User: &residue.Identity{}}, Witness: ledger.ByHolder}
		records := []ledger.Record{ledger.NewJob(job)}
		for d := range debts {
			spec := residue.Spec{Kind: "on", Selector: "Do", Value: fmt.Sprintf("%d-%d", j, d), Phase: residue.Data}
			spec.Identify()
			records = append(records, ledger.NewSpec(spec))
		}
		if err := l.Append(t.Context(), records...); err != nil {
			t.Fatal(err)
		}
	}
}

// owedBelow lists all debts of a state folder.
func owedBelow(t *testing.T, state string) []ledger.Debt {
	t.Helper()
	store := storeOfTests(state)
	var all []ledger.Debt
	for entry, err := range store.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		l, err := store.Ledger(entry.Unit, entry.Invocation)
		if err != nil {
			t.Fatal(err)
		}
		replayed, err := l.Replay(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, replayed.Owed()...)
	}
	return all
}

// TestCase33_deadEndpoint: what is owed on a dead server rests longer after
// each try, costs one call a sweep in all, and is never dropped.
func TestCase33_deadEndpoint(t *testing.T) {
	const jobs, debts, sweeps = 20, 50, 10
	synctest.Test(t, func(t *testing.T) {
		s, state := &server{}, t.TempDir()
		p := withServer(t, s)
		lost(t, state, jobs, debts)
		sweep := func() {
			if code, err := runSweep(t.Context(), p, &options{stateDir: state}); code != exitDone || err != nil {
				t.Fatal(code, err)
			}
		}
		last := time.Duration(-1)
		for n := 1; n <= sweeps; n++ {
			before := s.calls.Load()
			sweep()
			if made := s.calls.Load() - before; made != 1 {
				t.Fatalf("sweep %d made %d calls", n, made)
			}
			owed := owedBelow(t, state)
			if len(owed) != jobs*debts {
				t.Fatalf("after sweep %d, %d are owed", n, len(owed))
			}
			var until time.Time
			spans, shortest := map[time.Duration]bool{}, restMost
			for _, d := range owed {
				span := max(d.Next.Sub(d.Last), 0)
				spans[span], shortest = true, min(shortest, span)
				if d.Next.After(until) {
					until = d.Next
				}
				if d.Attempts != n || span > restMost || d.Reason != residue.NoAnswer || stuck(d) != (n >= 10) {
					t.Fatalf("after sweep %d: %+v", n, d.Progress)
				}
			}
			if shortest <= last || n > 1 && len(spans) < 100 {
				t.Errorf("sweep %d: %v at least, after %v; %d different spans", n, shortest, last, len(spans))
			}
			last = shortest
			if n == sweeps {
				break
			}
			if n > 1 { // too early for any
				before = s.calls.Load()
				sweep()
				if s.calls.Load() != before {
					t.Errorf("sweep %d and a half asked again", n)
				}
			}
			time.Sleep(time.Until(until) + time.Millisecond)
		}
		s.up = true
		sweep()
		if n := len(owedBelow(t, state)); n != jobs*debts {
			t.Errorf("what rests was tried: %d are owed", n)
		}
		time.Sleep(restMost)
		sweep()
		if n := len(owedBelow(t, state)); n != 0 {
			t.Errorf("the server is back, and %d are owed", n)
		}
	})
}

// TestCase31_doneAtTheThirdTry: a server that is busy twice: owed with a reason
// each time, done by the third sweep.
func TestCase31_doneAtTheThirdTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, state := &server{busy: true}, t.TempDir()
		p := withServer(t, s)
		lost(t, state, 1, 3)
		for n := 1; n <= 3; n++ {
			s.busy, s.up = n < 3, n == 3
			if code, err := runSweep(t.Context(), p, &options{stateDir: state}); code != exitDone || err != nil {
				t.Fatal(code, err)
			}
			owed := owedBelow(t, state)
			if want := map[int]int{1: 3, 2: 3, 3: 0}[n]; len(owed) != want {
				t.Fatalf("after sweep %d, %d are owed, want %d", n, len(owed), want)
			}
			for _, d := range owed {
				if d.Attempts != n || d.Reason != residue.Other || d.Message == "" {
					t.Errorf("after sweep %d: %+v", n, d.Progress)
				}
			}
			time.Sleep(10 * time.Minute)
		}
	})
}

// TestCase32_expired: what can't be revoked is closed when its time is over,
// without a call, and not before.
func TestCase32_expired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := time.Now().Add(3 * time.Hour)
		s, state := &server{until: end}, t.TempDir()
		p := withServer(t, s)
		lost(t, state, 1, 1)
		sweep := func(eager bool) {
			t.Helper()
			if code, err := runSweep(t.Context(), p, &options{stateDir: state, eager: eager}); code != exitDone || err != nil {
				t.Fatal(code, err)
			}
		}
		sweep(false)
		before := s.calls.Load()
		for range 5 {
			time.Sleep(30 * time.Minute)
			sweep(true)
		}
		if owed := owedBelow(t, state); len(owed) != 1 || !owed[0].Until.Equal(end) {
			t.Errorf("owed is %+v", owed)
		}
		time.Sleep(time.Hour)
		sweep(false)
		if owed := owedBelow(t, state); len(owed) != 0 {
			t.Errorf("it expired, and is owed: %+v", owed)
		}
		if s.calls.Load() != before {
			t.Errorf("%d calls after the answer that it can't be revoked", s.calls.Load()-before)
		}
	})
}
