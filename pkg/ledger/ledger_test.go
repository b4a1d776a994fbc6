package ledger

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/residue"
)

func TestSettle(t *testing.T) {
	s, l := ours(t)
	a := spec("a")
	add(t, l, NewJob(Job{}), NewSpec(a))
	got, err := l.Settle(t.Context())
	if err != nil || got.Gone || got.State == nil || len(got.State.Owed()) != 1 {
		t.Fatalf("while owed: %+v, %v", got, err)
	}
	add(t, l, Closed(a.ID, "", "absent", ""))
	if got, err = l.Settle(t.Context()); err != nil || !got.Gone {
		t.Errorf("when done: %+v, %v", got, err)
	}
	if names, err := os.ReadDir(s.base); err != nil || len(names) > 0 {
		t.Errorf("left %v, %v", names, err)
	}
}

func TestSettleKeepsTheUnknown(t *testing.T) {
	s, l := ours(t)
	a := spec("a")
	add(t, l, NewSpec(a), Closed(a.ID, "", "absent", ""))
	path := s.base + "/u/i.jsonl"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const future = `{"v":2,"t":"spec"}` + "\n"
	if err := os.WriteFile(path, append(text, future...), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := l.Settle(t.Context())
	if err != nil || got.Gone || got.Aside != "" {
		t.Errorf("%+v, %v", got, err)
	}
	if now, err := os.ReadFile(path); err != nil || string(now) != string(text)+future {
		t.Errorf("the file became %q, %v", now, err)
	}
}

func TestDamagedFileIsSetAside(t *testing.T) {
	s, l := ours(t)
	a, b := spec("a"), spec("b")
	path := s.base + "/u/i.jsonl"
	for n, aside := range []string{"i.damaged-1", "i.damaged-2"} {
		add(t, l, NewSpec(a), NewSpec(b))
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		broken := "ga\x00rbage\n" + string(text) + `{"v":9,"t":"x"}` + "\n" + `{"v":1`
		if err := os.WriteFile(path, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := l.Settle(t.Context())
		if err != nil || got.Gone || got.Aside != aside {
			t.Fatalf("%d: %+v, %v", n, got, err)
		}
		if kept, err := os.ReadFile(s.base + "/u/" + aside); err != nil || string(kept) != broken {
			t.Errorf("set aside %q, %v", kept, err)
		}
		now := replay(t, l)
		if owed := refs(now); !slices.Equal(owed, []string{a.Value, b.Value}) || len(now.Unknown) != n+1 || now.damaged > 0 {
			t.Errorf("carried on %q, unknown %q", owed, now.Unknown)
		}
	}
}

func TestNothingButDamage(t *testing.T) {
	s, l := ours(t)
	add(t, l, NewSpec(spec("a")))
	if err := os.WriteFile(s.base+"/u/i.jsonl", []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := l.Settle(t.Context())
	if err != nil || !got.Gone || got.Aside == "" || got.State.Done() {
		t.Errorf("%+v, %v", got, err)
	}
	var entries []Entry
	for e := range s.List(t.Context()) {
		entries = append(entries, e)
	}
	if len(entries) != 1 || entries[0].Damaged != 1 {
		t.Errorf("listed %+v, want the file that was set aside", entries)
	}
}

func TestAppendAfterTornLine(t *testing.T) {
	s, l := ours(t)
	add(t, l, NewSpec(spec("a")))
	f, err := os.OpenFile(s.base+"/u/i.jsonl", os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"v":1,"t":"sp`); err != nil {
		t.Fatal(err)
	}
	f.Close()
	add(t, l, NewSpec(spec("b")))
	got := replay(t, l)
	if owed := refs(got); !slices.Equal(owed, []string{"/var/tmp/a", "/var/tmp/b"}) || got.Torn != 1 || got.damaged > 0 {
		t.Errorf("owed %q, %+v", owed, got)
	}
}

func TestAppendRefusesLongRecords(t *testing.T) {
	_, l := ours(t)
	add(t, l, NewSpec(spec("a")))
	long := NewSpec(spec(strings.Repeat("x", MaxLine)))
	if err := l.Append(t.Context(), NewSpec(spec("b")), long); err == nil {
		t.Error("no error")
	}
	message := residue.Errorf(residue.Retry, residue.Other, "%s", strings.Repeat("é", MaxLine))
	add(t, l, Attempt(spec("a").ID, "", "owed", 1, message))
	got := replay(t, l)
	if owed := got.Owed(); len(owed) != 1 || len(owed[0].Message) > maxMessage+10 {
		t.Errorf("%d owed, message of %d bytes", len(owed), len(owed[0].Message))
	}
}

func TestAppendRefusesToGrowPastTheLimit(t *testing.T) {
	s, l := ours(t)
	add(t, l, NewSpec(spec("a")))
	if err := os.Truncate(s.base+"/u/i.jsonl", MaxFile-10); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(t.Context(), NewSpec(spec("b"))); !errors.Is(err, ErrFull) {
		t.Errorf("got %v", err)
	}
}

// Two runs of one job: the one settles the ledger, the other still fails to
// remove something. What it then writes must be complete.
func TestDebtOfASettledLedger(t *testing.T) {
	s, one := ours(t)
	other := open(t, s, "u", "i")
	a, b, x, y := spec("a"), spec("b"), thing("x"), thing("y")
	job := Job{Witness: ByHolder, Holder: &Process{PID: 1}}
	add(t, one, NewJob(job), NewSpec(a), NewSpec(b), Found(a.ID, x), Found(a.ID, y), Complete(a.ID))
	replay(t, other)
	add(t, one, Closed(a.ID, x.ID, "removed", ""), Closed(a.ID, y.ID, "removed", ""), Closed(b.ID, "", "absent", ""))
	if got, err := one.Settle(t.Context()); err != nil || !got.Gone {
		t.Fatalf("%+v, %v", got, err)
	}
	add(t, other, Closed(a.ID, x.ID, "absent", ""))
	if _, err := other.Replay(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a closed record made a ledger: %v", err)
	}
	busy := residue.Errorf(residue.Retry, residue.InUse, "busy")
	add(t, other, Attempt(a.ID, y.ID, "owed", 1, busy))
	add(t, other, Attempt(b.ID, "", "owed", 1, busy))
	got := replay(t, open(t, s, "u", "i"))
	if owed := refs(got); !slices.Equal(owed, []string{"/var/tmp/a:/var/tmp/y", "/var/tmp/b"}) {
		t.Errorf("owed %q", owed)
	}
	if got.Job.Holder == nil || got.Job.Unit != "u" {
		t.Errorf("job %+v", got.Job)
	}
}

func TestCompact(t *testing.T) {
	s, l := ours(t)
	s.compactAt = 4 << 10
	other := open(t, s, "u", "i")
	a, b, x := spec("a"), spec("b"), thing("x")
	add(t, l, NewJob(Job{Machine: "m"}), NewSpec(a), Found(a.ID, x), Complete(a.ID), NewSpec(b), Ended(Ending{}))
	before := replay(t, other)
	down := residue.Errorf(residue.Unreachable, residue.NoAnswer, "down")
	for n := range 200 {
		add(t, l, Attempt(a.ID, x.ID, "owed", n+1, down), Closed(b.ID, "", "absent", ""))
	}
	info, err := os.Stat(s.base + "/u/i.jsonl")
	if err != nil || info.Size() > 8<<10 {
		t.Errorf("%d bytes, %v", info.Size(), err)
	}
	got := replay(t, open(t, s, "u", "i"))
	owed := got.Owed()
	if len(owed) != 1 || owed[0].Attempts != 200 || owed[0].Residue.Ref != x.Ref || owed[0].Reason != residue.NoAnswer {
		t.Errorf("owed %+v", owed)
	}
	if got.Job.Machine != "m" || got.Ending == nil || !got.Recorded.Equal(before.Recorded) || !owed[0].Since.Equal(before.Owed()[0].Since) {
		t.Errorf("lost job, outcome or times: %+v", got)
	}
	add(t, other, Found(b.ID, thing("y"))) // of a spec that is no longer in the file
	if owed := refs(replay(t, open(t, s, "u", "i"))); !slices.Contains(owed, "/var/tmp/b:/var/tmp/y") {
		t.Errorf("owed %q", owed)
	}
}

func TestLocksAreBounded(t *testing.T) {
	s, l := ours(t)
	release, err := s.LockUnit(t.Context(), "u")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := s.LockUnit(ctx, "u"); !errors.Is(err, ErrBusy) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("second lock: %v", err)
	}
	add(t, l, NewSpec(spec("a"))) // the unit's lock does not keep anybody from writing
	release()
	if _, err := os.Lstat(s.base + "/u/i.jsonl"); err != nil {
		t.Errorf("release removed a ledger: %v", err)
	}
	dir, lock, err := s.lock(t.Context(), "u", appendLock, false)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	defer lock.Close()
	if err := l.Append(ctx, NewSpec(spec("b"))); !errors.Is(err, ErrBusy) {
		t.Errorf("append: %v", err)
	}
	if _, err := l.Settle(ctx); !errors.Is(err, ErrBusy) {
		t.Errorf("settle: %v", err)
	}
}

func TestLockOutlivesRemoval(t *testing.T) {
	s, _ := ours(t)
	for range 3 {
		release, err := s.LockUnit(t.Context(), "u")
		if err != nil {
			t.Fatal(err)
		}
		// Somebody settles the unit meanwhile: the lock must stay ours.
		l := open(t, s, "u", "i")
		a := spec("a")
		add(t, l, NewSpec(a), Closed(a.ID, "", "absent", ""))
		if got, err := l.Settle(t.Context()); err != nil || !got.Gone {
			t.Fatalf("%+v, %v", got, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		if _, err := s.LockUnit(ctx, "u"); !errors.Is(err, ErrBusy) {
			t.Errorf("the lock was taken twice: %v", err)
		}
		cancel()
		release()
		if _, err := os.Lstat(s.base + "/u"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the empty folder stays: %v", err)
		}
	}
}

func TestLockOfADeadProcess(t *testing.T) {
	s, _ := ours(t)
	cmd, out := start(t, "lock", s.base)
	line, err := out.ReadString('\n')
	if err != nil || line != "locked\n" {
		t.Fatalf("%q, %v", line, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := s.LockUnit(ctx, "u"); !errors.Is(err, ErrBusy) {
		t.Errorf("while it lives: %v", err)
	}
	if err := cmd.Process.Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	release, err := s.LockUnit(t.Context(), "u")
	if err != nil {
		t.Fatal(err)
	}
	release()
}
