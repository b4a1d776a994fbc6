package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/residue"
)

const (
	boot  = "0123456789abcdef0123456789abcdef"
	other = "fedcba9876543210fedcba9876543210"
)

// world is a probe of a world with one unit and one process, 42 of tick 1000.
func world(u UnitState) Probe {
	return Probe{
		Now: epoch.Add(time.Hour), Boot: "01234567-89ab-cdef-0123-456789abcdef", Machine: boot, Space: "pid:[1]",
		Unit: func(Job) (UnitState, error) { return u, nil },
		Start: func(pid int) (uint64, error) {
			switch pid {
			case 42:
				return 1000, nil
			case 43:
				return 0, errors.New("hidden")
			}
			return 0, fmt.Errorf("process %d: %w", pid, fs.ErrNotExist)
		},
	}
}

func stateOf(j Job) *State {
	s := newState()
	s.Job, s.Recorded = j, epoch
	return s
}

func held(p Process) Job {
	return Job{Job: residue.Job{Unit: "u", Invocation: boot, Boot: boot, Start: epoch}, Witness: ByHolder, Holder: &p}
}

func ofUnit(invocation string) Job {
	return Job{Job: residue.Job{Unit: "u", Invocation: invocation, Boot: boot, Start: epoch}, Witness: ByManager}
}

func TestCase07_bootAndHolder(t *testing.T) {
	foreign := held(Process{PID: 42, Start: 1000})
	foreign.Boot = other
	tests := []struct {
		name string
		job  Job
		over bool
	}{
		{"another boot, though pid and start are there", foreign, true},
		{"live holder", held(Process{PID: 42, Start: 1000}), false},
		{"dead holder", held(Process{PID: 7, Start: 1000}), true},
		{"same pid, other start time", held(Process{PID: 42, Start: 999}), true},
		{"no answer about the holder", held(Process{PID: 43, Start: 1000}), false},
	}
	for _, tt := range tests {
		if over, why := stateOf(tt.job).Over(world(UnitState{})); over != tt.over || why == "" {
			t.Errorf("%s: over is %t (%s)", tt.name, over, why)
		}
	}
}

func TestCase07_realProcess(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	start, err := ProcessStart(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	probe := Probe{Boot: boot, Space: ProcessSpace(), Start: ProcessStart}
	j := held(Process{PID: cmd.Process.Pid, Start: start, Space: ProcessSpace()})
	if over, why := stateOf(j).Over(probe); over {
		t.Errorf("alive: over (%s)", why)
	}
	_ = cmd.Process.Kill()
	var info unix.Siginfo
	for err = unix.EINTR; errors.Is(err, unix.EINTR); { // dead, and not reaped yet
		err = unix.Waitid(unix.P_PID, cmd.Process.Pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
	}
	if over, why := stateOf(j).Over(probe); err != nil || !over {
		t.Errorf("zombie: not over (%s, %v)", why, err)
	}
	_ = cmd.Wait()
	if over, why := stateOf(j).Over(probe); !over {
		t.Errorf("reaped: not over (%s)", why)
	}
}

func TestOverUnit(t *testing.T) {
	tests := []struct {
		name string
		unit UnitState
		over bool
	}{
		{"active", UnitState{"loaded", "active", "running", boot}, false},
		{"starting", UnitState{"loaded", "activating", "start-pre", boot}, false},
		{"its hook runs", UnitState{"loaded", "deactivating", "stop-post", boot}, false},
		{"reloading", UnitState{"loaded", "reloading", "reload", boot}, false},
		{"a word of tomorrow", UnitState{"loaded", "levitating", "", boot}, false},
		{"unit file removed while active", UnitState{"not-found", "active", "running", boot}, false},
		{"inactive keeps its invocation", UnitState{"loaded", "inactive", "dead", boot}, true},
		{"failed keeps its invocation", UnitState{"loaded", "failed", "failed", boot}, true},
		{"waits for restart", UnitState{"loaded", "activating", "auto-restart", boot}, true},
		{"queued for restart", UnitState{"loaded", "activating", "auto-restart-queued", boot}, true},
		{"another invocation", UnitState{"loaded", "active", "running", other}, true},
		{"not loaded", UnitState{"not-found", "inactive", "dead", ""}, true},
		{"not known", UnitState{Load: "not-found"}, true},
		{"active, invocation not told", UnitState{"loaded", "active", "running", ""}, false},
		{"nothing told", UnitState{}, false},
	}
	for _, tt := range tests {
		if over, why := stateOf(ofUnit(boot)).Over(world(tt.unit)); over != tt.over || why == "" {
			t.Errorf("%s: over is %t (%s)", tt.name, over, why)
		}
	}
	silent := world(UnitState{})
	silent.Unit = func(Job) (UnitState, error) { return UnitState{Active: "inactive"}, errors.New("no bus") }
	none := silent
	none.Unit = nil
	for name, p := range map[string]Probe{"no answer": silent, "no manager": none} {
		if over, why := stateOf(ofUnit(boot)).Over(p); over {
			t.Errorf("%s: over (%s)", name, why)
		}
	}
}

// Being silent for long does not end a job.
func TestCase21_longSilent(t *testing.T) {
	year := world(UnitState{"loaded", "active", "running", boot})
	year.Now = epoch.AddDate(1, 0, 0)
	patient := Job{Job: residue.Job{CI: true, Start: epoch}, MaxJob: 2 * 365 * 24 * time.Hour}
	for name, j := range map[string]Job{
		"unit": ofUnit(boot), "holder": held(Process{PID: 42, Start: 1000}), "run": patient,
	} {
		if over, why := stateOf(j).Over(year); over {
			t.Errorf("%s: over (%s)", name, why)
		}
	}
}

func TestCase22_onlyTheEndedOne(t *testing.T) {
	p := world(UnitState{"loaded", "active", "running", boot})
	s := Own(t.TempDir())
	add(t, open(t, s, "u", boot), NewJob(ofUnit(boot)), NewSpec(spec("live")))
	add(t, open(t, s, "u", other), NewJob(ofUnit(boot)), NewSpec(spec("ended"))) // the name counts, not what a line claims
	add(t, open(t, s, "exec", "1"), NewJob(held(Process{PID: 42, Start: 1000})), NewSpec(spec("held")))
	for e, err := range s.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		over, why := replay(t, open(t, s, e.Unit, e.Invocation)).Over(p)
		if want := e.Invocation == other; over != want {
			t.Errorf("%s of %s: over is %t (%s)", e.Invocation, e.Unit, over, why)
		}
	}
}

func TestOverWithoutManager(t *testing.T) {
	ci := Job{Job: residue.Job{Unit: "ci", Invocation: "1", CI: true, Boot: boot, Start: epoch}}
	at := func(d time.Duration) Probe {
		p := world(UnitState{"not-found", "inactive", "dead", ""}) // systemd knows nothing of it
		p.Now = epoch.Add(d)
		return p
	}
	called := stateOf(ci)
	called.Ending = &Ending{}
	short, noStart := ci, ci
	short.MaxJob = time.Minute
	noStart.Start = time.Time{}
	lost := newState()
	lost.Last = epoch
	tests := []struct {
		name  string
		state *State
		after time.Duration
		over  bool
	}{
		{"just begun", stateOf(ci), time.Hour, false},
		{"clock set back", stateOf(ci), -time.Hour, false},
		{"a day", stateOf(ci), 24*time.Hour + 1, true},
		{"its own limit", stateOf(short), 2 * time.Minute, true},
		{"run was called", called, 0, true},
		{"no start known", stateOf(noStart), 25 * time.Hour, true},
		{"no start known, young", stateOf(noStart), 23 * time.Hour, false},
		{"job record lost, young", lost, time.Hour, false},
		{"job record lost, old", lost, 25 * time.Hour, true},
		{"nothing at all", newState(), 25 * time.Hour, false},
	}
	for _, tt := range tests {
		if over, why := tt.state.Over(at(tt.after)); over != tt.over || why == "" {
			t.Errorf("%s: over is %t (%s)", tt.name, over, why)
		}
	}
}

func TestOverElsewhere(t *testing.T) {
	away := held(Process{PID: 7, Start: 1})
	away.Machine, away.Boot = other, other
	if over, why := stateOf(away).Over(world(UnitState{})); over {
		t.Errorf("another machine: over (%s)", why)
	}
	boxed := held(Process{PID: 7, Start: 1, Space: "pid:[2]"})
	if over, why := stateOf(boxed).Over(world(UnitState{})); over {
		t.Errorf("another container, young: over (%s)", why)
	}
	late := world(UnitState{})
	late.Now = epoch.Add(25 * time.Hour)
	if over, why := stateOf(boxed).Over(late); !over {
		t.Errorf("another container, old: not over (%s)", why)
	}
	if over, why := stateOf(Job{Witness: "oracle"}).Over(late); over {
		t.Errorf("unknown witness: over (%s)", why)
	}
}

func TestProcessStart(t *testing.T) {
	self, err := Self()
	if err != nil || self.PID != os.Getpid() || self.Start == 0 || self.Space == "" {
		t.Errorf("%+v, %v", self, err)
	}
	for _, pid := range []int{0, -1, 1 << 30} {
		if _, err := ProcessStart(pid); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("process %d: %v", pid, err)
		}
	}
	const tail = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20 21\n"
	for _, name := range []string{"(a)", "(a b) c)", "() Z 1 2", "(\n)"} {
		if state, start, err := parseStat([]byte("7 (" + name + ")" + tail)); err != nil || state != 'S' || start != 4242 {
			t.Errorf("%q: %c, %d, %v", name, state, start, err)
		}
	}
	for _, text := range []string{"", "1 (a", "1 (a) S 1", "1 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 x 20"} {
		if _, _, err := parseStat([]byte(text)); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}
