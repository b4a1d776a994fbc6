package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	k := kinds().Kind(kind)
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
