package system_test

import (
	"testing"

	"job-cleanup/pkg/journal"
	"job-cleanup/test/rig"
)

// treeStep removes one folder.
const treeStep = "\n[X-Cleanup.Path]\nRemove=/var/tmp/%N-tree\n"

// TestCase43_ownStartPre: what a unit makes before its job is there when the
// job starts, wherever arm stands and whatever an earlier run still owes.
func TestCase43_ownStartPre(t *testing.T) {
	const makeIt = "ExecStartPre=mkdir /var/tmp/%N-tree\n"
	const job = "ExecStart=/bin/sh -c 'test -d /var/tmp/%N-tree && touch /srv/told/%N.found'\n"
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		for name, lines := range map[string]string{"first": arm + makeIt, "second": makeIt + arm} {
			unit := name + ".service"
			// A run that nobody cleaned up after: armed, but without a hook.
			install(m, unit, "[Service]\nType=oneshot\n"+arm+"ExecStart=mkdir -p /var/tmp/%N-tree/old\n"+treeStep)
			runUnit(m, unit)
			if !m.Exists("/var/tmp/" + name + "-tree/old") {
				t.Fatal("the earlier run left nothing")
			}
			if name == "second" { // gone otherwise, while it stays owed
				m.Shell("rm -r /var/tmp/second-tree")
			}
			install(m, unit, "[Service]\nType=oneshot\n"+lines+job+hook+treeStep)
			if r := m.Start(unit); r.Code != 0 {
				t.Errorf("arm %s: %v", name, r)
			}
			settle(m, unit)
			if !m.Exists("/srv/told/" + name + ".found") {
				t.Errorf("arm %s: the job did not find its folder; %v", name, said(m, unit))
			}
			if m.Exists("/var/tmp/" + name + "-tree") {
				t.Errorf("arm %s: the folder is there after the hook", name)
			}
			wantVerdict(t, m, unit, "success", "0")
		}
	})
}

// TestCase44_armFails: arm never keeps a job from starting.
func TestCase44_armFails(t *testing.T) {
	const job = "ExecStart=touch /srv/told/%N.started\n"
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		units := map[string]string{
			"absent": "ExecStartPre=-+/usr/bin/job-cleanup-is-not-there arm\n",
			"wrong":  "ExecStartPre=-+/usr/bin/job-cleanup arm --no-such-option\n",
			"strict": "ExecStartPre=+/usr/bin/job-cleanup arm --no-such-option\n", // no dash: its own exit status counts
			"full":   "ExecStartPre=+/usr/bin/job-cleanup arm --state-dir /dev/full\n",
			"broken": "ExecStartPre=+/usr/bin/job-cleanup arm --plan /dev/full\n",
			"dead":   "ExecStartPre=-+/bin/sh -c 'kill -SEGV $$$$'\n",
		}
		for name, line := range units {
			unit := name + ".service"
			install(m, unit, "[Service]\nType=oneshot\n"+line+job+hook+treeStep)
			if r := m.Start(unit); r.Code != 0 || !m.Exists("/srv/told/"+name+".started") {
				t.Errorf("%s: %v; %v", name, r, said(m, unit))
			}
			settle(m, unit)
			wantVerdict(t, m, unit, "success", "0")
			wantSummary(t, m, unit, good)
		}
	})
}

// TestCase44_armHangs: what would make it wait for ever costs a bounded time:
// an earlier ledger that is a pipe nobody writes into, and a lock somebody
// holds.
func TestCase44_armHangs(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		const unit = "hangs.service"
		install(m, unit, oneshot("TimeoutStartSec=90\nExecStart=touch /srv/told/%N.started", treeStep))
		runUnit(m, unit)
		const ledgers = "/var/lib/job-cleanup/root/" + unit
		m.Shell("rm /srv/told/hangs.started; mkdir -p " + ledgers + "; mkfifo " + ledgers + "/00000000000000000000000000000001.jsonl")
		m.Shell("systemd-run -q --unit=holder sh -c 'cd " + ledgers + `; for f in .lock .append; do (exec 9>$f; flock 9; exec sleep infinity) & done; wait'`)
		m.WaitFor("somebody holds the locks", soon, func() bool {
			return m.Run("sh", "-c", "cd "+ledgers+"; for f in .lock .append; do ! flock -n $f true || exit 1; done").Code == 0
		})
		m.Shell("systemctl start --no-block " + unit)
		m.WaitFor("the job starts", soon, func() bool { return m.Exists("/srv/told/hangs.started") })
		m.WaitFor("the hook ends", 3*soon, func() bool { return m.Show(unit, "ActiveState")["ActiveState"] == "inactive" })
		wantVerdict(t, m, unit, "success", "0")
		if n := len(records(m, unit, journal.Summary)); n != 2 {
			t.Errorf("%d summaries, want 2: %v", n, said(m, unit))
		}
	})
}
