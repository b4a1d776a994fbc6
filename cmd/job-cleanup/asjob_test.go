package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"job-cleanup/pkg/journal"
	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/residue"
)

// nobody is the job's user in these tests.
const nobody = 65534

// stage is a state folder in which root armed a job of nobody's.
type stage struct {
	t     *testing.T
	dir   string // open to everybody, below a base
	state string
	// byHand leaves away what tells that a hook is run.
	byHand bool
}

func newStage(t *testing.T) *stage {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root to act as somebody else")
	}
	dir, err := os.MkdirTemp("/var/tmp", "job-cleanup-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &stage{t: t, dir: dir, state: filepath.Join(dir, "state")}
	s.must(os.Chmod(dir, 0o755))
	user := residue.Identity{UID: nobody, GID: nobody}
	s.must(ledger.Jobs(s.state).Give(t.Context(), "u.service", user))
	job := ledger.Job{Job: residue.Job{Unit: "u.service", Invocation: "one", User: &user, Start: time.Now()}, Armed: true}
	s.must(s.root().Append(t.Context(), ledger.NewJob(job), ledger.NewSpec(s.spec("path", "Remove", filepath.Join(dir, "none")))))
	return s
}

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) root() *ledger.Ledger {
	l, err := ledger.Root(s.state, nobody).Ledger("u.service", "one")
	s.must(err)
	return l
}

func (s *stage) spec(kind, selector, value string) residue.Spec {
	k := kinds.Kind(kind)
	sel, _ := k.Selector(selector)
	spec := residue.Spec{Name: kind, Kind: kind, Selector: selector, Value: value, Phase: sel.Phase, Rank: sel.Rank}
	spec.Identify()
	return spec
}

// tracked is a spec as a job tracks one, without proof.
func (s *stage) tracked(path string) residue.Spec {
	spec := s.spec("path", "Remove", path)
	spec.Tracked = &residue.Residue{Type: "path", Ref: path}
	spec.Identify()
	return spec
}

// forge writes the job's ledger as its user would, line by line.
func (s *stage) forge(records ...ledger.Record) {
	var text strings.Builder
	for _, r := range records {
		r.Version = 1
		line, err := json.Marshal(r)
		s.must(err)
		text.Write(append(line, '\n'))
	}
	path := filepath.Join(s.state, "job/u.service/one.jsonl")
	s.must(os.WriteFile(path, []byte(text.String()), 0o600))
	s.must(os.Chown(path, nobody, nobody))
}

// file makes a file of a user in a folder of that user's.
func (s *stage) file(name string, uid int) string {
	dir := filepath.Join(s.dir, "of-"+name)
	s.must(os.Mkdir(dir, 0o755))
	path := filepath.Join(dir, name)
	s.must(os.WriteFile(path, nil, 0o600))
	s.must(os.Chown(path, uid, uid))
	s.must(os.Chown(dir, uid, uid))
	return path
}

// run runs the program as root and returns what it printed.
func (s *stage) run(args ...string) string {
	cmd := exec.Command("job-cleanup", append(args, "--state-dir", s.state)...)
	cmd.Env = []string{"JOB=" + s.dir}
	if !s.byHand {
		cmd.Env = append(cmd.Env, "SERVICE_RESULT=exit-code")
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("%q: %v\n%s", args, err, out)
	}
	return string(out)
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// TestJobsLedgerHasNoRootRights: what a job wrote into its own ledger is done
// with the job's rights, and what a job can't track is not done at all.
func TestJobsLedgerHasNoRootRights(t *testing.T) {
	s := newStage(t)
	own, roots := s.file("own", nobody), s.file("roots", 0)
	mark := filepath.Join(s.dir, "of-own", "ran")
	job := ledger.Job{Job: residue.Job{Unit: "u.service", Invocation: "one", Start: time.Now().Add(-time.Minute), User: &residue.Identity{}, FullRights: true}}
	s.forge(
		ledger.NewJob(job),
		ledger.NewSpec(s.tracked(own)), ledger.NewSpec(s.tracked(roots)),
		ledger.NewSpec(s.spec("command", "Run", "/bin/touch "+mark)),
	)
	listed := s.run("status")
	out := s.run("run", "--unit", "u.service", "--invocation", "one")
	if there(own) || !strings.Contains(out, "removed path "+own) {
		t.Errorf("what the job may remove stays:\n%s", out)
	}
	if !there(roots) {
		t.Errorf("root's file is gone:\n%s", out)
	}
	if there(mark) {
		t.Errorf("a command of the job's ledger ran:\n%s", out)
	}
	if !strings.Contains(listed, own) {
		t.Errorf("status does not show what the job tracked:\n%s", listed)
	}
}

// TestJobsFolderIsNotTrusted: links, FIFOs and garbage in the ledger's place
// lead root nowhere, and keep nothing else from being cleaned.
func TestJobsFolderIsNotTrusted(t *testing.T) {
	for name, plant := range map[string]func(path string) error{
		"link":    func(path string) error { return os.Symlink("/etc/passwd", path) },
		"fifo":    func(path string) error { return exec.Command("mkfifo", path).Run() },
		"folder":  func(path string) error { return os.Mkdir(path, 0o700) },
		"garbage": func(path string) error { return os.WriteFile(path, []byte("\x00\xff{\n{}\n"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			path := filepath.Join(s.state, "job/u.service/one.jsonl")
			s.must(plant(path))
			s.must(os.Lchown(path, nobody, nobody))
			armed := s.file("armed", 0)
			s.must(s.root().Append(t.Context(), ledger.NewSpec(s.spec("path", "Remove", armed))))
			s.run("status")
			if out := s.run("run", "--unit", "u.service", "--invocation", "one"); there(armed) {
				t.Errorf("what was armed stays:\n%s", out)
			}
		})
	}
}

// TestCase39_environment: a step that the job's environment is part of is done
// with the job's rights.
func TestCase39_environment(t *testing.T) {
	s := newStage(t)
	own, roots := s.file("own", nobody), s.file("roots", 0)
	for _, path := range []string{own, roots} {
		spec := s.spec("path", "Remove", path)
		spec.FromEnv = true
		s.must(s.root().Append(t.Context(), ledger.NewSpec(spec)))
	}
	command := s.spec("command", "Run", "/bin/sh -c 'id -u >${JOB}/of-own/uid'")
	command.FromEnv = true
	s.must(s.root().Append(t.Context(), ledger.NewSpec(command)))
	out := s.run("run", "--unit", "u.service", "--invocation", "one")
	if there(own) || !there(roots) {
		t.Errorf("the job's file is there: %v, root's: %v\n%s", there(own), there(roots), out)
	}
	if uid, _ := os.ReadFile(filepath.Join(s.dir, "of-own/uid")); strings.TrimSpace(string(uid)) != "65534" {
		t.Errorf("the command ran as %q\n%s", uid, out)
	}
}

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
			if took := time.Since(began); took > 5*time.Second {
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
