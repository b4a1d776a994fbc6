package system_test

import (
	"strings"
	"testing"
	"time"

	"job-cleanup/test/rig"
)

// TestByHand: who names a unit by hand means all that it owes, and what can't
// be removed is one debt, however often it is tried.
func TestByHand(t *testing.T) {
	const job = "ExecStart=/bin/sh -ec 'mkdir -p /var/tmp/%N-tree/mount; mount -t tmpfs none /var/tmp/%N-tree/mount'"
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		install(m, "busy.service", oneshot(job, treeStep))
		runUnit(m, "busy.service")
		for range 2 {
			m.Shell("job-cleanup run busy.service")
		}
		if owed := m.Shell("job-cleanup status --json busy.service"); strings.Count(owed, "\n") != 0 || !strings.Contains(owed, `"attempts":3`) {
			t.Errorf("owed: %s", owed)
		}
		if r := m.Run("job-cleanup", "run", "--strict", "busy.service"); r.Code != 1 {
			t.Errorf("strict: %v", r)
		}
		m.Shell("umount /var/tmp/busy-tree/mount && job-cleanup run busy.service")
		wantNothingOwed(t, m, "busy.service")
	})
}

// TestByHandEnding: the manager still knows how a failed job ended.
func TestByHandEnding(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		install(m, "failed.service", "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'exit 3'\n"+treeStep+"When=exit-code\n")
		runUnit(m, "failed.service")
		if out := m.Shell("mkdir /var/tmp/failed-tree; job-cleanup run failed.service"); !strings.Contains(out, "(exit-code): 1 removed") {
			t.Errorf("said: %s", out)
		}
	})
}

// TestMistakeArmed: a step that arm could not take is refused by the hook too,
// counted in its summary, and the strict policy sees it.
func TestMistakeArmed(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		install(m, "typo.service", oneshot("ExecStart=true", "\n[X-Cleanup]\nExitPolicy=strict\n[X-Cleanup.Path]\nRemvoe=/var/tmp/x\n"))
		runUnit(m, "typo.service")
		if said := m.Shell("journalctl -o cat -u typo.service"); !strings.Contains(said, "cleanup of typo.service (success): 1 refused") {
			t.Errorf("said: %s", said)
		}
		if out := m.Shell("sed -i s/ExecStopPost=-/ExecStopPost=/ /etc/systemd/system/typo.service; systemctl daemon-reload; systemctl start typo.service || echo failed"); out != "failed" {
			t.Errorf("a strict hook passed: %v", said(m, "typo.service"))
		}
	})
}

// TestStatusReasons: what nobody tried to remove is owed for a reason too.
func TestStatusReasons(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		m.Shell("useradd worker")
		install(m, "plain.service", oneshot("User=worker\nExecStart=/bin/sh -c 'until test -e /tmp/end; do sleep 0.1; done'", treeStep))
		m.Shell("systemctl start --no-block plain.service")
		status := func(reason string) func() bool {
			return func() bool {
				return strings.Contains(m.Shell("job-cleanup status --json plain.service"), `"reason":"`+reason+`"`)
			}
		}
		m.WaitFor("its debt waits for the job's end", time.Minute, status("running"))
		m.Shell("touch /tmp/end")
		settle(m, "plain.service")
		m.WaitFor("its debt is unsettled", time.Minute, status("unsettled"))
		m.Shell("job-cleanup run plain.service")
		wantNothingOwed(t, m, "plain.service")
	})
}
