package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/residue"
)

// TestStashOutlivesTheJobsLedger: secrets that root's ledger still needs stay
// when the job's own ledger owes nothing any more.
func TestStashOutlivesTheJobsLedger(t *testing.T) {
	s := newStage(t)
	own := s.file("own", nobody)
	runtime := filepath.Join(s.dir, "runtime")
	kept := filepath.Join(runtime, "u.service/one/secret")
	s.must(os.MkdirAll(filepath.Dir(kept), 0o711))
	s.must(os.WriteFile(kept, []byte("secret"), 0o600))
	s.must(os.Chown(kept, nobody, nobody))
	s.must(os.Chmod(filepath.Dir(kept), 0o700))
	s.must(os.Chown(filepath.Dir(kept), nobody, nobody))
	job := ledger.Job{Witness: ledger.ByManager}
	job.Unit, job.Invocation, job.Boot, job.Start = "u.service", "one", "00000000000000000000000000000001", time.Now().Add(-time.Minute)
	tracked := s.tracked(own)
	s.forge(ledger.NewJob(job), ledger.NewSpec(tracked), ledger.Closed(tracked.ID, "", "absent", ""))
	owed := s.spec("path", "Remove", filepath.Join(s.dir, "armed"))
	owed.Kind = "of-another-version"
	job.User, job.Armed = &residue.Identity{UID: nobody, GID: nobody}, true
	s.must(s.root().Append(t.Context(), ledger.NewJob(job), ledger.NewSpec(owed)))
	out := s.run("sweep", "--runtime-dir", runtime)
	if _, err := os.Stat(filepath.Join(s.state, "job/u.service/one.jsonl")); err == nil {
		t.Fatalf("the job's ledger was not settled:\n%s", out)
	}
	if !there(kept) {
		t.Errorf("the secret that root's ledger needs is gone:\n%s", out)
	}
}
