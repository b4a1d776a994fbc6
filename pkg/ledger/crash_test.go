package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Every record whose Append returned is there, whenever its process is killed.
func TestCase05_killedWhileRecording(t *testing.T) {
	s, l := ours(t)
	promised := map[string]bool{}
	const rounds = 50
	for round := range rounds {
		cmd, out := start(t, "append", s.base)
		for range 1 + round%3 {
			line, err := out.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			promised["/var/tmp/"+strings.TrimSpace(line)] = true
		}
		time.Sleep(time.Duration(round*37%1000) * time.Microsecond) // the moment is what varies
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for {
			line, err := out.ReadString('\n')
			if err != nil {
				break
			}
			promised["/var/tmp/"+strings.TrimSpace(line)] = true
		}
		_ = cmd.Wait()
	}
	got := replay(t, l)
	there := map[string]bool{}
	for _, ref := range refs(got) {
		there[ref] = true
	}
	for ref := range promised {
		if !there[ref] {
			t.Errorf("%q was promised and is lost", ref)
		}
	}
	if got.damaged > 0 || len(promised) < rounds {
		t.Errorf("%d promised, damage %+v", len(promised), got.Damage)
	}
	t.Logf("%d promised, %d there, %d torn", len(promised), len(there), got.Torn)
}

// churn records and settles debts of its own in a ledger that others use too.
func churn(ctx context.Context, dir, name string, rounds int) error {
	s := Own(dir)
	for n := range rounds {
		l, err := s.Ledger("u", fmt.Sprint("i", n%2))
		if err != nil {
			return err
		}
		a, x := spec(fmt.Sprint(name, "-", n)), thing(name)
		if err := l.Append(ctx, NewSpec(a), Found(a.ID, x), Complete(a.ID)); err != nil {
			return err
		}
		state, err := l.Replay(ctx)
		if err != nil {
			return err
		}
		if state.Account(a.ID) == nil || state.Account(a.ID).Residue(x.ID).Closed {
			return fmt.Errorf("%s: %q is not owed", name, a.Value)
		}
		if n%10 == 9 {
			continue // stays owed
		}
		if err := l.Append(ctx, Closed(a.ID, x.ID, "removed", "")); err != nil {
			return err
		}
		if _, err := l.Settle(ctx); err != nil {
			return err
		}
		if n%5 == 0 {
			release, err := s.LockUnit(ctx, "u")
			if err != nil {
				return err
			}
			release()
		}
	}
	return nil
}

func TestManyWritersAtOnce(t *testing.T) {
	s, _ := ours(t)
	const processes, routines = 2, 3
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var wait sync.WaitGroup
	for n := range routines {
		wait.Go(func() {
			if err := churn(ctx, s.base, fmt.Sprint("routine", n), 40); err != nil {
				t.Error(err)
			}
		})
	}
	for range processes {
		cmd, _ := start(t, "churn", s.base)
		wait.Go(func() {
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	owed := 0
	for _, inv := range []string{"i0", "i1"} {
		state, err := open(t, s, "u", inv).Replay(t.Context())
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		owed += len(state.Owed())
		if state.Torn > 0 || state.damaged > 0 {
			t.Errorf("%s: torn %d, damage %+v", inv, state.Torn, state.Damage)
		}
	}
	if want := (processes + routines) * 4; owed != want {
		t.Errorf("%d owed, want %d", owed, want)
	}
}

func TestOneHandleManyRoutines(t *testing.T) {
	_, l := ours(t)
	var wait sync.WaitGroup
	for n := range 8 {
		wait.Go(func() {
			a := spec(fmt.Sprint(n))
			if err := l.Append(t.Context(), NewSpec(a), Complete(a.ID), Found(a.ID, thing("x"))); err != nil {
				t.Error(err)
			}
			if _, err := l.Replay(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if owed := replay(t, l).Owed(); len(owed) != 8 {
		t.Errorf("%d owed", len(owed))
	}
}

func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=16k,mode=0700"); err != nil {
		t.Skipf("can't mount a small tmpfs: %v", err)
	}
	defer func() { _ = unix.Unmount(dir, unix.MNT_DETACH) }()
	l := open(t, Own(dir), "u", "i")
	add(t, l, NewSpec(spec("first")))
	fill, err := os.Create(dir + "/fill")
	if err != nil {
		t.Fatal(err)
	}
	defer fill.Close()
	for err == nil {
		_, err = fill.Write(make([]byte, 512))
	}
	before, err := os.Stat(dir + "/u/i.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	big := spec(strings.Repeat("x", 8<<10)) // a part of it has room in the file's last page
	if err := l.Append(t.Context(), NewSpec(big)); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("append on a full disk: %v", err)
	}
	if after, err := os.Stat(dir + "/u/i.jsonl"); err != nil || after.Size() != before.Size() {
		t.Errorf("the file has %d bytes, not %d: %v", after.Size(), before.Size(), err)
	}
	if err := open(t, Own(dir), "u2", "i").Append(t.Context(), NewSpec(big)); err == nil {
		t.Error("a new ledger: no error")
	}
	if err := fill.Truncate(0); err != nil {
		t.Fatal(err)
	}
	add(t, l, Found(big.ID, thing("x"))) // comes with the spec that found no room
	got := replay(t, open(t, Own(dir), "u", "i"))
	if owed := refs(got); len(owed) != 3 || owed[1] != big.Value || got.Torn > 0 || got.damaged > 0 {
		t.Errorf("%d owed, torn %d, damage %+v", len(owed), got.Torn, got.Damage)
	}
}
