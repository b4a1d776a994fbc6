package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/manager"
	"job-cleanup/pkg/residue"
)

// storeOfTests is the store that the program uses below a state folder.
func storeOfTests(state string) *ledger.Store {
	if os.Getuid() == 0 {
		return ledger.Root(state, -1)
	}
	return ledger.Own(state)
}

// owes records a job that owes one folder, which is made.
func owes(t *testing.T, state, name string, job ledger.Job) string {
	t.Helper()
	tree := filepath.Join(t.TempDir(), name)
	if err := os.MkdirAll(filepath.Join(tree, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := storeOfTests(state).Ledger(name+".service", "one")
	if err != nil {
		t.Fatal(err)
	}
	job.User = &residue.Identity{UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}
	spec := residue.Spec{Kind: "path", Selector: "Remove", Value: tree, Phase: residue.Data}
	spec.Identify()
	if err := l.Append(t.Context(), ledger.NewJob(job), ledger.NewSpec(spec)); err != nil {
		t.Fatal(err)
	}
	return tree
}

// TestCase07_sweep: jobs of another boot and of a dead holder are swept, those
// of a living one are not, and a number alone is no holder.
func TestCase07_sweep(t *testing.T) {
	boot, err := manager.BootID("/")
	if err != nil {
		t.Skip(err)
	}
	sleep := exec.Command("sleep", "60")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sleep.Process.Kill(); sleep.Wait() })
	start, err := ledger.ProcessStart(sleep.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	holder := func(pid int, start uint64) ledger.Job {
		job := ledger.Job{Witness: ledger.ByHolder, Holder: &ledger.Process{PID: pid, Start: start, Space: ledger.ProcessSpace()}}
		job.Boot = boot
		return job
	}
	otherBoot := holder(sleep.Process.Pid, start)
	otherBoot.Boot = "00000000000000000000000000000001"
	silent := holder(sleep.Process.Pid, start)
	silent.Start = time.Now().Add(-1000 * time.Hour)
	state := t.TempDir()
	trees := map[string]string{}
	for name, job := range map[string]ledger.Job{
		"other-boot": otherBoot, "live-holder": holder(sleep.Process.Pid, start), "long-silent": silent,
		"dead-holder": holder(gone.Process.Pid, 1), "other-start": holder(sleep.Process.Pid, start+1),
	} {
		trees[name] = owes(t, state, name, job)
	}
	out, err := exec.Command("job-cleanup", "sweep", "--state-dir", state).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for name, stays := range map[string]bool{
		"other-boot": false, "live-holder": true, "long-silent": true, "dead-holder": false, "other-start": false,
	} {
		if there(trees[name]) != stays {
			t.Errorf("%s: its tree is there: %v, want %v\n%s", name, !stays, stays, out)
		}
	}
}

// TestSweepTidies: a crash leaves folders without a ledger, which the sweep
// removes; else they become more with every unit that has a name of its own.
func TestSweepTidies(t *testing.T) {
	state := t.TempDir()
	owes(t, state, "debt", ledger.Job{Witness: ledger.ByManager})
	base := state
	if os.Getuid() == 0 {
		base = filepath.Join(state, "root")
	}
	for _, name := range []string{".lock", ".append"} {
		for _, unit := range []string{"crashed.service", "other.service"} {
			path := filepath.Join(base, unit, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	out, err := exec.Command("job-cleanup", "sweep", "--state-dir", state).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for _, unit := range []string{"crashed.service", "other.service"} {
		if there(filepath.Join(base, unit)) {
			t.Errorf("%s is there", unit)
		}
	}
}
