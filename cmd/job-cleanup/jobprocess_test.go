package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"job-cleanup/pkg/journal"
	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/residue"
)

// TestJobsProcessIsBelievedLittle: whoever got hold of the process that acts
// with a job's rights can't have root say or record what it likes.
func TestJobsProcessIsBelievedLittle(t *testing.T) {
	var said []journal.Record
	rec := newRecorder(nil, senderFunc(func(r journal.Record) error { said = append(said, r); return nil }), residue.Job{Unit: "u.service"})
	j := &jobProcess{rec: rec}
	j.take(strings.NewReader(strings.Join([]string{
		`{"record":{"Event":"summary","Message":"all is well","Priority":1,"Counts":{"removed":7}}}`,
		`{"record":{"Event":"command-output","Message":"hello","Priority":1,"Unit":"other.service","Extra":{"FOO":"bar"}}}`,
		`{"event":{"Status":"armed","Spec":{"name":"x"}}}`,
		`{"event":{"Status":"removed","Spec":{"name":"x","value":"/own"}}}`,
	}, "\n")))
	var got []string
	for _, r := range said {
		got = append(got, fmt.Sprintf("%s %s %d %s %d", r.Event, r.Unit, r.Priority, r.Message, len(r.Extra)))
	}
	want := []string{"command-output u.service 0 hello 0", "removed u.service 0  0"}
	if !slices.Equal(got, want) || j.sum.Count["armed"] != 0 {
		t.Errorf("said %q, want %q; counted %v", got, want, j.sum.Count)
	}
}

// senderFunc is a journal that calls itself.
type senderFunc func(journal.Record) error

func (f senderFunc) Send(r journal.Record) error { return f(r) }

// TestJobsProcessCannotHoldRoot: a process of the job that keeps the way to
// root open, or sends without end, does not keep root from its own work.
func TestJobsProcessCannotHoldRoot(t *testing.T) {
	newStage(t)
	for name, script := range map[string]string{
		"holds the pipe": "sleep 60 &",
		"never ends":     "exec sleep 60",
		"never stops":    "exec yes '{\"debt\":{}}'",
		"never reads":    "kill -STOP $$",
		"talks rubbish":  "echo rubbish; exec sleep 60",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exe := filepath.Join(t.TempDir(), "exe")
			if err := os.WriteFile(exe, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			for dir := filepath.Dir(exe); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
				_ = os.Chmod(dir, 0o755)
			}
			j := &jobProcess{exe: exe, order: order{Total: 500 * time.Millisecond, Env: environment{"BIG": strings.Repeat("x", 1<<20)}}}
			began := time.Now()
			_ = j.run(t.Context(), nil, residue.Identity{UID: nobody, GID: nobody})
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

// TestOnlyTheHooksEnvironmentIsLent: what an administrator has in the
// environment is not for the job's user to read.
func TestOnlyTheHooksEnvironmentIsLent(t *testing.T) {
	s := newStage(t)
	s.byHand = true
	command := s.spec("command", "Run", "/bin/sh -c 'echo ${JOB} >>"+s.dir+"/of-own/said'")
	command.FromEnv = true
	s.file("own", nobody)
	s.must(s.root().Append(t.Context(), ledger.NewSpec(command)))
	out := s.run("run", "--unit", "u.service", "--invocation", "one")
	if there(filepath.Join(s.dir, "of-own/said")) || !strings.Contains(out, "owed command /bin/sh") {
		t.Errorf("%s", out)
	}
}

// TestDryRunLeavesTheJobsLedger: what would be done is not written down.
func TestDryRunLeavesTheJobsLedger(t *testing.T) {
	s := newStage(t)
	own := s.file("own", nobody)
	user := residue.Identity{UID: nobody, GID: nobody}
	s.forge(ledger.NewJob(ledger.Job{Job: residue.Job{Unit: "u.service", Invocation: "one", Start: time.Now().Add(-time.Minute), User: &user}}),
		ledger.NewSpec(s.tracked(own)))
	path := filepath.Join(s.state, "job/u.service/one.jsonl")
	before, err := os.ReadFile(path)
	s.must(err)
	out := s.run("plan", "--unit", "u.service", "--invocation", "one")
	after, err := os.ReadFile(path)
	s.must(err)
	if string(before) != string(after) || !there(own) || !strings.Contains(out, own) {
		t.Errorf("%q became %q\n%s", before, after, out)
	}
}

// TestCommandOfNobodyDoesNotRun: where nobody can tell who a job ran as, root
// runs nothing in its place.
func TestCommandOfNobodyDoesNotRun(t *testing.T) {
	s := newStage(t)
	mark := filepath.Join(s.dir, "ran")
	for _, user := range []*residue.Identity{nil, {UID: nobody, GID: nobody, Dynamic: true}} {
		job := ledger.Job{Job: residue.Job{Unit: "u.service", Invocation: "one", User: user, Start: time.Now()}, Armed: true}
		s.must(s.root().Append(t.Context(), ledger.NewJob(job), ledger.NewSpec(s.spec("command", "Run", "/bin/touch "+mark))))
		out := s.run("run", "--unit", "u.service", "--invocation", "one")
		if there(mark) || !strings.Contains(out, "owed command /bin/touch") {
			t.Errorf("%v: %s", user, out)
		}
	}
}

// TestStdoutMayGo: who reads what a cleanup prints may leave; the cleanup goes
// on.
func TestStdoutMayGo(t *testing.T) {
	dir, err := os.MkdirTemp("/var/tmp", "job-cleanup-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	args := []string{"run", "--state-dir", filepath.Join(dir, "state"), "--unit", "no-such.service", "--invocation", "one"}
	for i := range 20 {
		tree := filepath.Join(dir, fmt.Sprint("tree", i))
		if err := os.Mkdir(tree, 0o755); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--step", "Path Remove="+tree)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read.Close()
	cmd := exec.Command("job-cleanup", args...)
	cmd.Stdout, cmd.Stderr = write, write
	err = cmd.Run()
	write.Close()
	left, _ := filepath.Glob(filepath.Join(dir, "tree*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v, %d trees are left", err, len(left))
	}
}

// TestJobsProcessDoesNotStart: when nobody could look at what the job tracked,
// that is told, and the root ledger stays readable.
func TestJobsProcessDoesNotStart(t *testing.T) {
	s := newStage(t)
	var said []journal.Record
	out := senderFunc(func(r journal.Record) error { said = append(said, r); return nil })
	led := s.root()
	rec := newRecorder(led, out, residue.Job{Unit: "u.service", Invocation: "one"})
	place := &site{program: &program{uid: 0}, opts: &options{}, shared: s.state}
	sub := &subject{}
	sub.job.Unit, sub.job.User = "u.service", &residue.Identity{UID: nobody, GID: nobody}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	sum := place.asJob(over, nil, sub, nil, rec, time.Second)
	rec.book.flush()
	state, err := led.Replay(t.Context())
	s.must(err)
	if len(state.Damage) > 0 || sum.Clean() || len(said) != 1 || said[0].Event != journal.Owed {
		t.Errorf("damage %v, counted %v, said %v", state.Damage, sum.Count, said)
	}
}

// TestAwaitGivesUp: a process that nothing ends is not waited for.
func TestAwaitGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		err := await(ctx, make(chan error))
		if took := time.Since(began); err == nil || took > 4*time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
}
