package lockfile

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"job-cleanup/pkg/clean/cleantest"
	"job-cleanup/pkg/residue"
)

// sleeper is a process that lives until end is called.
func sleeper(t *testing.T) (pid int, end func()) {
	t.Helper()
	cmd := exec.Command("/bin/sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Cleanup(end)
	return cmd.Process.Pid, end
}

// track records the lock file at path as a job would; marks may be nil.
func track(t *testing.T, path string, marks map[string]string) residue.Spec {
	t.Helper()
	spec := residue.Spec{
		Options: map[string][]string{"Within": {filepath.Dir(path)}},
		Tracked: &residue.Residue{Type: "lockfile", Ref: path, Proof: marks},
	}
	c, err := Kind.Open(spec, residue.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.(residue.Prover).Prove(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	spec.Tracked = &r
	return spec
}

func reopened(t *testing.T, spec residue.Spec) *cleaner {
	t.Helper()
	c, err := Kind.Open(spec, residue.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	return c.(*cleaner)
}

func TestTrackedHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "job.lock")
	pid, end := sleeper(t)
	began, err := local.start(pid)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, fmt.Sprintln(pid))
	spec := track(t, path, nil)
	if p := spec.Tracked.Proof; p["pid"] != strconv.Itoa(pid) || p["start"] != strconv.FormatUint(began, 10) || p["ino"] == "" || p["boot"] == "" {
		t.Errorf("proof is %v", p)
	}
	if got := cleantest.Verdict(clean(t, reopened(t, spec))); got != isInUse {
		t.Errorf("the holder lives: %s", got)
	}
	end()
	if got := cleantest.Verdict(clean(t, reopened(t, spec))); got != isRemoved {
		t.Errorf("the holder is dead: %s", got)
	}
}

// TestTrackedHolderReused gives the recorded id to another process.
func TestTrackedHolderReused(t *testing.T) {
	tests := []struct {
		name        string
		keys        []string
		value, want string
	}{
		{"the same", nil, "", isInUse},
		{"another start", []string{"start"}, "1", isRemoved},
		{"another boot", []string{"boot", "pid-boot"}, "00112233445566778899aabbccddeeff", isRemoved},
	}
	for _, tt := range tests {
		path := filepath.Join(t.TempDir(), "job.lock")
		write(t, path, fmt.Sprintln(os.Getpid()))
		spec := track(t, path, nil)
		spec.Tracked.Proof = maps.Clone(spec.Tracked.Proof)
		for _, key := range tt.keys {
			spec.Tracked.Proof[key] = tt.value
		}
		if got := cleantest.Verdict(clean(t, reopened(t, spec))); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestFoundInAnEarlierBoot replays what was found before the machine booted:
// a file that was not written since has a holder of that boot.
func TestFoundInAnEarlierBoot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "job.lock")
	write(t, path, fmt.Sprintln(os.Getpid()))
	c := opened(t, path, nil)
	c.machine.alive = func(int) (bool, error) { return false, nil } // as it was then
	found, err := c.Find(context.Background())
	if err != nil || len(found) != 1 {
		t.Fatalf("found %v, %v", found, err)
	}
	r := found[0]
	if got := cleantest.Verdict(opened(t, path, nil).Remove(context.Background(), r)); got != isInUse {
		t.Errorf("of this boot, its id in use: %s", got)
	}
	r.Proof["boot"], r.Proof["dev"] = "00112233445566778899aabbccddeeff", "1"
	written := maps.Clone(r.Proof)
	written["mtime"] = "1"
	if got := cleantest.Verdict(opened(t, path, nil).Remove(context.Background(), residue.Residue{Proof: written})); got != isInUse {
		t.Errorf("of another boot, but written since: %s", got)
	}
	elsewhere := maps.Clone(r.Proof)
	elsewhere["mount"] = "/elsewhere"
	if got := cleantest.Verdict(opened(t, path, nil).Remove(context.Background(), residue.Residue{Proof: elsewhere})); got != isLost {
		t.Errorf("of another boot, on another mount: %s", got)
	}
	if got := cleantest.Verdict(opened(t, path, nil).Remove(context.Background(), r)); got != isRemoved {
		t.Errorf("of another boot: %s", got)
	}
}

func TestTrackedWithPID(t *testing.T) {
	path := filepath.Join(t.TempDir(), "job.lock")
	write(t, path, "batch\n") // names nobody
	pid, end := sleeper(t)
	spec := track(t, path, map[string]string{"pid": strconv.Itoa(pid)})
	if got := cleantest.Verdict(clean(t, reopened(t, spec))); got != isInUse {
		t.Errorf("the named holder lives: %s", got)
	}
	end()
	if got := cleantest.Verdict(clean(t, reopened(t, spec))); got != isRemoved {
		t.Errorf("the named holder is dead: %s", got)
	}
}

// TestTrackedWithPIDBeforeItExists is an intent whose holder is known.
func TestTrackedWithPIDBeforeItExists(t *testing.T) {
	path := filepath.Join(t.TempDir(), "job.lock")
	pid, end := sleeper(t)
	spec := track(t, path, map[string]string{"pid": strconv.Itoa(pid)})
	write(t, path, "batch\n")
	if got := cleantest.Verdict(clean(t, reopened(t, spec))); got != isInUse {
		t.Errorf("the named holder lives: %s", got)
	}
	end()
	if got := cleantest.Verdict(clean(t, reopened(t, spec))); got != isRemoved {
		t.Errorf("the named holder is dead: %s", got)
	}
}

func TestTrackedWithNoProcess(t *testing.T) {
	for _, pid := range []string{"0", "-1", "x", "99999999999"} {
		spec := residue.Spec{Tracked: &residue.Residue{Ref: "/run/x.lock", Proof: map[string]string{"pid": pid}}}
		_, err := Kind.Open(spec, residue.Deps{})
		if e := residue.AsError(err); e == nil || e.Class != residue.Refused {
			t.Errorf("pid %q: %v, want refused", pid, err)
		}
	}
}

// TestCase06_trackedBeforeItExists is an intent: nothing to prove yet.
func TestCase06_trackedBeforeItExists(t *testing.T) {
	path := filepath.Join(t.TempDir(), "job.lock")
	spec := track(t, path, nil)
	if len(spec.Tracked.Proof) != 0 {
		t.Errorf("proof of nothing: %v", spec.Tracked.Proof)
	}
	if got := cleantest.Verdict(clean(t, reopened(t, spec))); got != wasGone {
		t.Errorf("never made: %s", got)
	}
	write(t, path, fmt.Sprintln(os.Getpid()))
	if got := cleantest.Verdict(clean(t, reopened(t, spec))); got != isInUse {
		t.Errorf("made and held: %s", got)
	}
	write(t, path, fmt.Sprintln(reaped(t)))
	if got := cleantest.Verdict(clean(t, reopened(t, spec))); got != isRemoved {
		t.Errorf("made, holder dead: %s", got)
	}
}

// TestTrackedBeforeItIsWritten is a file that its holder fills a moment later.
func TestTrackedBeforeItIsWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "job.lock")
	write(t, path, "")
	spec := track(t, path, nil)
	write(t, path, fmt.Sprintln(reaped(t)))
	if got := cleantest.Verdict(clean(t, reopened(t, spec))); got != isRemoved {
		t.Errorf("filled after it was tracked: %s", got)
	}
}

// TestCase42_madeAgain is another file under the tracked name.
func TestCase42_madeAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "job.lock")
	text := fmt.Sprintln(reaped(t))
	write(t, path, text)
	spec := track(t, path, nil)
	for range 3 { // the file system may give the same inode number
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		write(t, path, text)
		if got := cleantest.Verdict(clean(t, reopened(t, spec))); got != isLost || !there(path) {
			t.Errorf("made again: %s, there is %v", got, there(path))
		}
	}
}
