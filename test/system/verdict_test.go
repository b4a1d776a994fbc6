package system_test

import (
	"strings"
	"testing"

	"job-cleanup/pkg/journal"
	"job-cleanup/test/rig"
)

// failingStep can't be done; the step after it can.
const failingStep = `
[X-Cleanup.Command]
Run=/bin/false

[X-Cleanup.Path]
Remove=/var/tmp/%N-tree
`

// TestCase12_verdict: a cleanup that fails is a warning, unless it is told to
// be strict; a failed job stays as it failed.
func TestCase12_verdict(t *testing.T) {
	const strict = "ExecStopPost=/usr/bin/job-cleanup run --strict\n"
	const job = "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'mkdir -p /var/tmp/%N-tree; exit CODE'\n"
	tests := []struct {
		name, hook, steps, code string
		result, status          string
		owed                    int
	}{
		{"warned", hook, failingStep, "0", "success", "0", 1},
		{"dashless", "ExecStopPost=/usr/bin/job-cleanup run\n", failingStep, "0", "success", "0", 1},
		{"strict", strict, failingStep, "0", "exit-code", "0", 1},
		{"policy", "ExecStopPost=/usr/bin/job-cleanup run\n", "\n[X-Cleanup]\nExitPolicy=strict\n" + failingStep, "0", "exit-code", "0", 1},
		{"fine", strict, steps, "3", "exit-code", "3", 0},
		{"both", strict, failingStep, "7", "exit-code", "7", 1},
	}
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		for _, test := range tests {
			unit := test.name + ".service"
			install(m, unit, strings.ReplaceAll(job, "CODE", test.code)+test.hook+test.steps)
			runUnit(m, unit)
			wantVerdict(t, m, unit, test.result, test.status)
			if m.Exists("/var/tmp/" + test.name + "-tree") {
				t.Errorf("%s: the good step did not run", test.name)
			}
			owed := records(m, unit, journal.Owed)
			if len(owed) != test.owed {
				t.Errorf("%s: %d owed, want %d: %v", test.name, len(owed), test.owed, said(m, unit))
				continue
			}
			summaries := records(m, unit, journal.Summary)
			if len(summaries) != 1 {
				t.Errorf("%s: %d summaries", test.name, len(summaries))
				continue
			}
			if test.owed > 0 {
				wantFields(t, owed[0], rig.Entry{"JOB_CLEANUP_KIND": "command", "JOB_CLEANUP_STATUS": "owed", "PRIORITY": journal.Warning.String()})
				wantFields(t, summaries[0], rig.Entry{"PRIORITY": journal.Warning.String(), "JOB_CLEANUP_OWED": "1"})
			}
			wantFields(t, summaries[0], rig.Entry{"EXIT_STATUS": test.code})
		}
		byHand := []string{"job-cleanup", "run", "--unit", "hand.service", "--step", "Command Run=/bin/false"}
		if r := m.Run(byHand...); r.Code != 0 {
			t.Errorf("by hand: %v", r)
		}
		if r := m.Run(append(byHand, "--strict")...); r.Code != 1 {
			t.Errorf("by hand, strict: %v", r)
		}
	})
}

// TestCase41_whileActive: by hand, a running job's things are left alone
// unless one insists.
func TestCase41_whileActive(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		install(m, "busy.service", oneshot("ExecStart=/usr/local/bin/job busy wait", "\n[X-Cleanup.Path]\nRemove=/var/tmp/%N-tree\n"))
		m.Shell("systemctl start --no-block busy.service")
		m.WaitFor("the job runs", soon, func() bool { return m.Exists("/srv/told/busy.waits") })
		refused := m.Run("job-cleanup", "run", "busy.service")
		if refused.Code != 3 || refused.Stderr == "" {
			t.Errorf("while it is active: %v", refused)
		}
		if !m.Exists("/var/tmp/busy-tree/deep/er/file") {
			t.Fatal("the running job's tree is gone")
		}
		if forced := m.Run("job-cleanup", "run", "--force", "busy.service"); forced.Code != 0 {
			t.Errorf("forced: %v", forced)
		}
		if m.Exists("/var/tmp/busy-tree") {
			t.Error("forced, and the tree is there")
		}
		m.Shell("systemctl stop busy.service")
		settle(m, "busy.service")
		m.Shell("mkdir -p /var/tmp/busy-tree/late")
		if after := m.Run("job-cleanup", "run", "busy.service"); after.Code != 0 || m.Exists("/var/tmp/busy-tree") {
			t.Errorf("when it was over: %v", after)
		}
	})
}
