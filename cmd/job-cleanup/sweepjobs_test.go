package main

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"job-cleanup/pkg/clean/path"
	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/residue"
)

// otherBoot is the boot of a job that no manager has to be asked about.
const otherBoot = "00000000000000000000000000000001"

// ofOtherBoot is the record of a job that nobody cleaned up after.
func ofOtherBoot() ledger.Record {
	user := residue.Identity{UID: nobody, GID: nobody}
	return ledger.NewJob(ledger.Job{Job: residue.Job{Boot: otherBoot, Start: time.Now().Add(-time.Hour), User: &user}})
}

// proven is a spec as track makes one, with the proof that root can get.
func (s *stage) proven(ref string) residue.Spec {
	s.t.Helper()
	spec := s.tracked(ref)
	cleaner, err := path.Kind.Open(spec, residue.Deps{Job: residue.Job{User: &residue.Identity{}}})
	s.must(err)
	proof, err := cleaner.(residue.Prover).Prove(s.t.Context())
	s.must(err)
	proof.Identify()
	spec.Tracked = &proof
	spec.Identify()
	return spec
}

// sweep runs a sweep as root, without the environment of any job.
func (s *stage) sweep(args ...string) string {
	s.t.Helper()
	cmd := exec.Command("job-cleanup", append(append([]string{"sweep"}, args...), "--state-dir", s.state, "--runtime-dir", filepath.Join(s.dir, "run"))...)
	cmd.Env = []string{"VAULT_TOKEN=roots", "VAULT_ADDR=http://127.0.0.1:1"}
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState.ExitCode() != exitOwed {
		s.t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// TestSweepOfJobsLedgers: what a job tracked and its hook never came to is
// removed with that job's rights, and whatever else stands there is not.
func TestSweepOfJobsLedgers(t *testing.T) {
	s := newStage(t)
	own, roots, mark := s.file("own", nobody), s.file("roots", 0), filepath.Join(s.dir, "of-own", "ran")
	s.forge(ofOtherBoot(),
		ledger.NewSpec(s.proven(own)), ledger.NewSpec(s.proven(roots)),
		ledger.NewSpec(s.spec("command", "Run", "/bin/touch "+mark)),
		ledger.NewSpec(s.spec("unit", "Stop", "u-*.service")))
	out := s.sweep()
	if there(own) || !strings.Contains(out, "removed path "+own) {
		t.Errorf("what the job may remove stays:\n%s", out)
	}
	if !there(roots) || there(mark) {
		t.Errorf("root's file is there: %v, the command ran: %v\n%s", there(roots), there(mark), out)
	}
	if out := s.run("status", "--json"); !strings.Contains(out, roots) || strings.Contains(out, own) {
		t.Errorf("status says\n%s", out)
	}
	if second := s.sweep(); !strings.Contains(second, roots) {
		t.Errorf("the second sweep does not try again:\n%s", second)
	}
	if third := s.sweep(); strings.Contains(third, roots) {
		t.Errorf("what was tried twice in vain does not rest:\n%s", third)
	}
	if all := s.sweep("--all"); !strings.Contains(all, roots) {
		t.Errorf("--all leaves what rests:\n%s", all)
	}
}

// TestSweepIsLedNowhere: nothing that a job can put into the place of its
// ledgers leads root anywhere, or keeps other jobs from being swept.
func TestSweepIsLedNowhere(t *testing.T) {
	for name, plant := range map[string]func(s *stage, path string) error{
		"link":   func(_ *stage, path string) error { return os.Symlink("/etc/passwd", path) },
		"fifo":   func(_ *stage, path string) error { return exec.Command("mkfifo", path).Run() },
		"folder": func(_ *stage, path string) error { return os.Mkdir(path, 0o700) },
		"garbage": func(_ *stage, path string) error {
			return os.WriteFile(path, []byte("\x00\xff{\n{}\n"), 0o600)
		},
		"roots ledger": func(s *stage, path string) error {
			return os.Link(filepath.Join(s.state, "root/u.service/one.jsonl"), path)
		},
		"endless": func(_ *stage, path string) error {
			return os.WriteFile(path, []byte(strings.Repeat("{\"v\":1,\"t\":\"spec\",\"spec\":{\"id\":\"x\",\"kind\":\"path\"}}\n", 1<<15)), 0o600)
		},
		"wild record": func(s *stage, path string) error {
			spec := s.tracked("/../../" + strings.Repeat("x/", 3000))
			spec.Selector, spec.Phase, spec.Rank, spec.Timeout = "Remove\n", -7, 1<<30, -1
			line, err := json.Marshal(ledger.Record{Version: 1, Type: ledger.TypeSpec, Spec: &spec})
			if err != nil {
				return err
			}
			return os.WriteFile(path, line, 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			user := residue.Identity{UID: nobody, GID: nobody}
			s.must(ledger.Jobs(s.state).Give(t.Context(), "w.service", user))
			good := s.file("good", nobody)
			s.forge(ofOtherBoot(), ledger.NewSpec(s.proven(good)))
			s.must(os.Rename(filepath.Join(s.state, "job/u.service/one.jsonl"), filepath.Join(s.state, "job/w.service/one.jsonl")))
			bad := filepath.Join(s.state, "job/u.service/one.jsonl")
			s.must(plant(s, bad))
			if name != "roots ledger" {
				s.must(os.Lchown(bad, nobody, nobody))
			}
			rootsBefore, err := os.ReadFile(filepath.Join(s.state, "root/u.service/one.jsonl"))
			s.must(err)
			began := time.Now()
			out := s.sweep()
			if there(good) {
				t.Errorf("another job's residue stays:\n%s", out)
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("took %v", took)
			}
			if rootsAfter, err := os.ReadFile(filepath.Join(s.state, "root/u.service/one.jsonl")); err != nil || string(rootsAfter) != string(rootsBefore) {
				t.Errorf("root's ledger changed: %v\n%s", err, rootsAfter)
			}
			if info, err := os.Stat("/etc/passwd"); err != nil || !info.Mode().IsRegular() {
				t.Fatal("passwd", err)
			}
		})
	}
}

// TestSweepLeavesDynamicUsers: a number that systemd gives and takes may be
// somebody else's by now.
func TestSweepLeavesDynamicUsers(t *testing.T) {
	s := newStage(t)
	const dynamic = 61999
	own := s.file("own", dynamic)
	s.forge(ofOtherBoot(), ledger.NewSpec(s.proven(own)))
	folder := filepath.Join(s.state, "job/u.service")
	s.must(os.Chown(filepath.Join(folder, "one.jsonl"), dynamic, dynamic))
	s.must(os.Chown(folder, dynamic, dynamic))
	if out := s.sweep(); !there(own) {
		t.Errorf("it is gone:\n%s", out)
	}
}

// TestCase46_foreignAddress: a tracked record that names an address of its own,
// or a secret that is not the job's, gets no request with anybody's identity.
func TestCase46_foreignAddress(t *testing.T) {
	var asked atomic.Int32
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if len(r.Header["X-Vault-Token"])+len(r.Header["Authorization"]) > 0 {
			asked.Add(1)
		}
	}))
	web.Listener = listener
	web.Start()
	t.Cleanup(web.Close)
	s := newStage(t)
	secret := filepath.Join(s.dir, "secret")
	s.must(os.WriteFile(secret, []byte("roots"), 0o600))
	s.must(os.MkdirAll(filepath.Join(s.dir, "run/u.service/one"), 0o755))
	records := []ledger.Record{ofOtherBoot()}
	for _, ref := range []string{"", "env:VAULT_TOKEN", "file:" + secret, "credential:token", "stash:token"} {
		spec := residue.Spec{Kind: "vault", Selector: "Revoke", Value: "accessor", Phase: residue.Credentials,
			Options: map[string][]string{"Address": {web.URL}, "Token": {ref}, "Identity": {ref}},
			Tracked: &residue.Residue{Type: "token", Ref: "accessor", Proof: map[string]string{"accessor": "accessor"}}}
		spec.Identify()
		records = append(records, ledger.NewSpec(spec))
	}
	s.forge(records...)
	out := s.sweep()
	if n := asked.Load(); n > 0 {
		t.Errorf("%d requests with somebody's identity:\n%s", n, out)
	}
	if !strings.Contains(out, "vault") {
		t.Errorf("it was not even tried:\n%s", out)
	}
}
