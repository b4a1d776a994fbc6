package kill_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/manager/managertest"
	"job-cleanup/pkg/residue"
)

// units are shared by the jobs, so that one invocation comes to what another
// one owes.
const units = 5

// world is a machine on which no unit runs.
type world struct {
	t    *testing.T
	dir  string // below a base
	bus  string // XDG_RUNTIME_DIR of a manager that knows no unit
	jobs int
	// deferred has the jobs' trees put off.
	deferred bool
	log      int64 // read so far
}

func newWorld(t *testing.T) *world {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root: the ledgers are root's")
	}
	dir, err := os.MkdirTemp("/var/tmp", "job-cleanup-kill-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	m := managertest.New(t)
	return &world{t: t, dir: dir, bus: filepath.Dir(strings.TrimPrefix(m.Address, "unix:path="))}
}

func (w *world) state() string { return filepath.Join(w.dir, "state") }

func (w *world) command(args ...string) *exec.Cmd {
	args = append(args, "--state-dir", w.state())
	if args[0] != "status" {
		args = append(args, "--runtime-dir", filepath.Join(w.dir, "run"), "--log-file", filepath.Join(w.dir, "log"))
	}
	cmd := exec.Command(binary, args...)
	cmd.Env = []string{"XDG_RUNTIME_DIR=" + w.bus}
	return cmd
}

// must runs the program to its end.
func (w *world) must(args ...string) string {
	w.t.Helper()
	out, err := w.command(args...).CombinedOutput()
	if err != nil {
		w.t.Fatalf("%q: %v\n%s", args, err, out)
	}
	return string(out)
}

// job is one invocation and what it leaves.
type job struct {
	w                *world
	unit, invocation string
	tree, file, lock string
}

func (w *world) newJob() job {
	w.jobs++
	at := filepath.Join(w.dir, fmt.Sprintf("job-%d", w.jobs))
	return job{w, fmt.Sprintf("u-%d.service", w.jobs%units), fmt.Sprintf("i-%d", w.jobs), at + "-tree", at + "-file", at + "-lock"}
}

// options say which job it is, and steps what it will leave.
func (j job) options() []string {
	return []string{"--user", "--unit", j.unit, "--invocation", j.invocation}
}

func (j job) steps() []string {
	return []string{"--step", "Path Remove=" + j.tree, "--step", "Path Remove=" + j.file, "--step", "Lockfile Holder=flock Remove=" + j.lock}
}

// leaves makes the residue.
func (j job) leaves() {
	j.w.t.Helper()
	err := os.MkdirAll(filepath.Join(j.tree, "deep/er"), 0o755)
	for i := range 20 {
		err = errors.Join(err, os.WriteFile(filepath.Join(j.tree, "deep", fmt.Sprint(i)), nil, 0o600))
	}
	err = errors.Join(err, os.WriteFile(j.file, nil, 0o600), os.WriteFile(j.lock, nil, 0o600))
	if err != nil {
		j.w.t.Fatal(err)
	}
}

func (j job) left() []string {
	var all []string
	for _, path := range []string{j.tree, j.file, j.lock} {
		if stands(path) {
			all = append(all, path)
		}
	}
	return all
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// stands reports whether it is there, or is but moved aside.
func stands(path string) bool { return there(path) || len(asides(path)) > 0 }

func asides(path string) []string {
	all, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".job-cleanup~"+filepath.Base(path)+"~*")) // no bad pattern
	return all
}

// owed replays the job's ledger; nil when there is none. What it calls done
// must be done.
func (j job) owed() *ledger.State {
	j.w.t.Helper()
	l, err := ledger.Root(j.w.state(), -1).Ledger(j.unit, j.invocation)
	if err != nil {
		j.w.t.Fatal(err)
	}
	state, err := l.Replay(j.w.t.Context())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		j.w.t.Fatal(err)
	}
	if len(state.Damage) > 0 || len(state.Unknown) > 0 {
		j.w.t.Fatalf("%s of %s: damage %v, unknown %q", j.invocation, j.unit, state.Damage, state.Unknown)
	}
	for _, a := range state.Accounts {
		for _, h := range a.Residues {
			if h.Closed && stands(h.Residue.Ref) {
				j.w.t.Errorf("the ledger of %s calls %s %s", j.invocation, h.Residue.Ref, h.Status)
			}
		}
		if a.Closed && stands(a.Spec.Value) {
			j.w.t.Errorf("the ledger of %s calls %s %s", j.invocation, a.Spec.Value, a.Status)
		}
	}
	return state
}

// told reads the records that are new and fails if one calls done what is not.
func (w *world) told() {
	w.t.Helper()
	file, err := os.Open(filepath.Join(w.dir, "log"))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		w.t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Seek(w.log, 0); err != nil {
		w.t.Fatal(err)
	}
	for lines := bufio.NewScanner(file); lines.Scan(); w.log += int64(len(lines.Bytes())) + 1 {
		var record map[string]any
		if json.Unmarshal(lines.Bytes(), &record) != nil {
			continue // torn by a kill
		}
		status, _ := record["JOB_CLEANUP_STATUS"].(string)
		ref, _ := record["JOB_CLEANUP_REF"].(string)
		if (status == "removed" || status == "absent") && stands(ref) {
			w.t.Errorf("%v", record["MESSAGE"])
		}
	}
}

// sweeps once and fails unless nothing is left of the jobs and nothing is owed.
func (w *world) sweepsAll(jobs []job) {
	w.t.Helper()
	out := w.must("sweep")
	for _, j := range jobs {
		if left := j.left(); left != nil {
			w.t.Errorf("%s of %s left %q", j.invocation, j.unit, left)
		}
		if state := j.owed(); state != nil {
			w.t.Errorf("%s of %s still owes %v", j.invocation, j.unit, state.Owed())
		}
	}
	if w.t.Failed() {
		w.t.Logf("the sweep said:\n%.4000s", out)
	}
	w.told()
	if out := w.must("status"); out != "Nothing is owed.\n" {
		w.t.Errorf("status says\n%.2000s", out)
	}
}

// arms records the job as arm does, faster.
func (j job) arms() {
	j.w.t.Helper()
	l, err := ledger.Root(j.w.state(), -1).Ledger(j.unit, j.invocation)
	if err != nil {
		j.w.t.Fatal(err)
	}
	armed := ledger.Job{Witness: ledger.ByManager, Armed: true}
	armed.UserBus, armed.User = true, &residue.Identity{}
	records := []ledger.Record{ledger.NewJob(armed)}
	for _, path := range []string{j.tree, j.file, j.lock} {
		spec := residue.Spec{Kind: "path", Selector: "Remove", Value: path, Phase: residue.Data}
		if path == j.lock {
			spec.Kind, spec.Phase, spec.Options = "lockfile", residue.Locks, map[string][]string{"Holder": {"flock"}}
		} else if j.w.deferred {
			spec.Options = map[string][]string{"Defer": {"yes"}}
		}
		spec.Identify()
		records = append(records, ledger.NewSpec(spec))
	}
	if err := l.Append(j.w.t.Context(), records...); err != nil {
		j.w.t.Fatal(err)
	}
}
