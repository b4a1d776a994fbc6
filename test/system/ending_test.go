package system_test

import (
	"testing"

	"job-cleanup/test/rig"
)

// failureSteps are for failures alone.
const failureSteps = `
[X-Cleanup.Path]
Remove=/var/tmp/%N-result
When=failure

[X-Cleanup.Command]
Run=/bin/touch /srv/told/%N.failed
When=failure
`

// TestEndingKept: where the hook can't write into root's ledger, a later pass
// still knows that the job succeeded, and keeps what it made.
func TestEndingKept(t *testing.T) {
	const job = "ExecStart=mkdir -p /var/tmp/%N-result\n"
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		m.Shell("useradd worker")
		for name, lines := range map[string]string{"user": "User=worker\n", "strict": "ProtectSystem=strict\nReadWritePaths=/var/tmp\n"} {
			unit := name + ".service"
			install(m, unit, oneshot(lines+job, failureSteps))
			runUnit(m, unit)
			m.Shell("job-cleanup sweep")
			runUnit(m, unit)
			wantVerdict(t, m, unit, "success", "0")
			if !m.Exists("/var/tmp/"+name+"-result") || m.Exists("/srv/told/"+name+".failed") {
				t.Errorf("%s: its success was taken for a failure: %v", name, said(m, unit))
			}
			m.Shell("job-cleanup sweep")
			wantNothingOwed(t, m, unit)
		}
	})
}

// TestEndingUnknown: when nobody can tell any more, what depends on the ending
// is not touched, and stays owed.
func TestEndingUnknown(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		m.Shell("useradd worker")
		install(m, "user.service", oneshot("User=worker\nExecStart=mkdir -p /var/tmp/%N-result\n", failureSteps))
		runUnit(m, "user.service")
		m.Shell("journalctl --rotate && journalctl --vacuum-time=1us; job-cleanup sweep")
		if !m.Exists("/var/tmp/user-result") || m.Exists("/srv/told/user.failed") {
			t.Errorf("a step for failures ran: %v", said(m, "user.service"))
		}
	})
}
