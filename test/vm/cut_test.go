//go:build linux

package vm

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// phases are cut in this order, over and over. What a cut in a sweep finds to
// do is left by the cut before.
var phases = []string{"job", "run", "sweep", "run", "job", "sweep"}

// life is how long a phase takes when nothing cuts it; cuts fall anywhere in
// it, and a little after.
type life map[string]time.Duration

// moment draws one of a phase.
func (l life) moment(random *rand.Rand, phase string) time.Duration {
	return time.Duration(random.Int64N(int64(l[phase])*11/10 + 1))
}

// TestPowerLoss cuts the power of a machine at random moments of its jobs, of
// their hooks and of the sweep that follows. At each boot all that is left must
// be owed, and the sweep must leave nothing and touch nothing else.
func TestPowerLoss(t *testing.T) {
	m := machineFor(t)
	t.Logf("-seed %d", *seed)
	random := rand.New(rand.NewPCG(*seed, 1))
	installJobs(m)
	before := untouched(m)
	lives := life{}
	uncut(m, lives)
	for i := range *cuts {
		phase := phases[i%len(phases)]
		if phase != "sweep" {
			m.start(random)
		}
		m.reach(phase)
		after := lives.moment(random, phase)
		time.Sleep(after) // the moment itself
		m.cut()
		m.boot()
		v := look(m)
		t.Logf("cut %d: %v into %s of about %v; there: %d, owed: %d", i+1, after.Round(time.Millisecond), phase, lives[phase].Round(time.Millisecond), len(v.there), len(v.owed))
		wantOwed(t, v)
		if i+1 == *cuts || phases[(i+1)%len(phases)] != "sweep" {
			lives["sweep"] = (lives["sweep"] + sweepAll(m)) / 2
			if now := untouched(m); now != before {
				t.Errorf("others' things were\n%s\nand are\n%s", before, now)
			}
		}
		if t.Failed() {
			t.FailNow() // the next cuts would only say the same
		}
	}
}

// TestPowerLossAfterTheEnd cuts the power as soon as the hooks have ended. What
// they removed on another disk than the ledger's may be back then: that disk
// writes its changes when it likes. It must be owed still.
func TestPowerLossAfterTheEnd(t *testing.T) {
	m := machineFor(t)
	installJobs(m)
	m.openGate()
	m.shell("touch /run/flush-1 /run/flush-2 /run/flush-3; systemctl start --no-block " + jobs)
	m.reach("end")
	m.cut()
	m.boot()
	v := look(m)
	t.Logf("there: %q, owed: %d", v.there, len(v.owed))
	wantOwed(t, v)
	sweepAll(m)
}

// uncut lets the jobs and their hooks end, and measures them.
func uncut(m *machine, lives life) {
	m.t.Helper()
	m.openGate()
	m.shell("systemctl is-system-running --wait || true")
	began := time.Now()
	m.shell("systemctl start --no-block " + jobs)
	m.reach("run")
	lives["job"] = time.Since(began)
	began = time.Now()
	m.reach("end")
	lives["run"] = time.Since(began)
	lives["sweep"] = sweepAll(m)
	m.t.Logf("uncut: %v", lives)
}

// start begins the jobs; how much of what they make reaches the disk by itself
// is drawn.
func (m *machine) start(random *rand.Rand) {
	m.t.Helper()
	script := "rm -f /run/flush-* /run/batch-ended\n"
	for n := range 3 {
		if random.IntN(2) == 0 {
			script += fmt.Sprintf(": >/run/flush-%d\n", n+1)
		}
	}
	m.shell(script + "systemctl start --no-block " + jobs)
}

// reach waits until a phase has begun.
func (m *machine) reach(phase string) {
	m.t.Helper()
	switch phase {
	case "run":
		m.shell("until [ -e /run/batch-ended ]; do sleep 0.1; done")
	case "end":
		m.shell(`for unit in ` + jobs + `; do until [ "$(systemctl show -P ActiveState $unit)" = failed ]; do sleep 1; done; done`)
	case "sweep":
		m.openGate()
		m.shell("systemctl start --no-block job-cleanup-sweep.service")
	}
}

// sweepAll lets the boot go on, and then the timer's sweep, as it would later.
// It fails when something is left, and returns how long both took.
func sweepAll(m *machine) time.Duration {
	m.t.Helper()
	began := time.Now()
	m.openGate()
	m.shell("systemctl is-system-running --wait || true") // the sweep of the boot belongs to it
	for _, path := range look(m).there {
		if path == "/var/lib/marks/a" || path[:len("/var/tmp/.")] == "/var/tmp/." {
			continue // commands and what was put off are the timer's
		}
		m.t.Errorf("%s is there after the sweep of the boot", path)
	}
	m.shell("systemctl start job-cleanup-sweep.service")
	took := time.Since(began)
	wantNothing(m)
	return took
}
