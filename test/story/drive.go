//go:build linux

package story

import (
	"time"

	"job-cleanup/test/rig"
)

// busy bounds waits for what takes seconds on an idle machine.
const busy = 90 * time.Second

// Name returns the unit of a job.
func Name(name string) string {
	if name == Tracking {
		return "tracked@" + name + ".service"
	}
	return "batch@" + name + ".service"
}

// Begin starts a job and waits until it holds everything.
func (w *World) Begin(m *rig.Machine, name string) {
	w.t.Helper()
	m.Shell("systemctl start --no-block " + Name(name))
	m.WaitFor(name+" holds everything", busy, func() bool {
		return m.Exists(told+"/"+name+".holds") || over(m, name)
	})
	if over(m, name) {
		w.t.Fatalf("%s ended early:\n%s", name, m.Shell("journalctl -u "+Name(name)))
	}
}

// End tells a job how to end: by a status, or "kill".
func (w *World) End(m *rig.Machine, name, how string) {
	w.t.Helper()
	m.Shell("echo " + how + " >" + told + "/" + name + ".end")
}

// Settle waits until a job and its hook are over.
func (w *World) Settle(m *rig.Machine, name string) {
	w.t.Helper()
	m.WaitFor(name+" is over", busy, func() bool { return over(m, name) })
}

func over(m *rig.Machine, name string) bool {
	state := m.Show(Name(name), "ActiveState", "Job")
	ended := state["ActiveState"] == "inactive" || state["ActiveState"] == "failed"
	return ended && (state["Job"] == "" || state["Job"] == "0")
}
