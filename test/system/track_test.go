package system_test

import (
	"strings"
	"testing"

	"job-cleanup/pkg/journal"
	"job-cleanup/test/rig"
)

// TestTrack: what a job tracks as it goes is removed after it, whoever it runs
// as and whatever rights its hook has, and what it takes back stays.
func TestTrack(t *testing.T) {
	const job = `ExecStart=/bin/sh -ec 'mkdir -p /var/tmp/%N-a /var/tmp/%N-b; job-cleanup track path /var/tmp/%N-a; job-cleanup track --forget $(job-cleanup track path /var/tmp/%N-b); exit 3'
`
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		m.Shell("useradd worker")
		for name, service := range map[string]string{
			"root":   arm + job + hook,
			"unarm":  job + hook,
			"user":   arm + "User=worker\n" + job + hook,
			"plus":   arm + "User=worker\n" + job + "ExecStopPost=-+/usr/bin/job-cleanup run\n",
			"strict": arm + "User=worker\nProtectSystem=strict\nReadWritePaths=/var/tmp -/var/lib/job-cleanup -/run/job-cleanup\n" + job + hook,
		} {
			unit := name + ".service"
			install(m, unit, "[Service]\nType=oneshot\n"+service)
			runUnit(m, unit)
			if m.Exists("/var/tmp/" + name + "-a") {
				t.Errorf("%s: what was tracked stays: %v", name, said(m, unit))
			}
			if !m.Exists("/var/tmp/" + name + "-b") {
				t.Errorf("%s: what was taken back is gone", name)
			}
			wantVerdict(t, m, unit, "exit-code", "3")
			wantSummary(t, m, unit, bad3)
			wantRecord(t, m, unit, journal.Removed, "path", "/var/tmp/"+name+"-a")
		}
		if left := m.Run("job-cleanup", "status").Stdout; left != "Nothing is owed.\n" {
			t.Errorf("status says %q", left)
		}
	})
}

// TestMoreTime: with NotifyAccess= the hook gets the time that its plan says,
// beyond the unit's own limit; without, it is stopped, and what it could not
// do is owed and done later.
func TestMoreTime(t *testing.T) {
	const slow = `
[X-Cleanup]
TimeoutSec=30

[X-Cleanup.Command]
Run=/bin/sh -c 'sleep 5; systemctl show --value -p StatusText %n >/srv/told/%N.status; touch /srv/told/%N.cleaned'

[X-Cleanup.Path]
Remove=/var/tmp/%N-tree
`
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		const job = "TimeoutStopSec=2\nExecStart=/bin/mkdir /var/tmp/%N-tree"
		install(m, "more.service", oneshot("NotifyAccess=all\n"+job, slow))
		runUnit(m, "more.service")
		if !m.Exists("/srv/told/more.cleaned") || m.Exists("/var/tmp/more-tree") {
			t.Errorf("it had no time: %v", said(m, "more.service"))
		}
		wantVerdict(t, m, "more.service", "success", "0")
		status := m.Shell("cat /srv/told/more.status")
		if !strings.HasPrefix(status, "cleaning more.service  ") || !strings.Contains(status, "  command /bin/sh") {
			t.Errorf("meanwhile systemctl status showed %q", status)
		}

		install(m, "less.service", oneshot(job, slow))
		runUnit(m, "less.service")
		if m.Exists("/srv/told/less.cleaned") || m.Exists("/var/tmp/less-tree") {
			t.Errorf("tree or slow command: %v", said(m, "less.service"))
		}
		wantRecord(t, m, "less.service", journal.Owed, "command", "")
		wantRecord(t, m, "less.service", journal.Removed, "path", "/var/tmp/less-tree")
		if r := m.Run("job-cleanup", "sweep"); r.Code != 0 || !m.Exists("/srv/told/less.cleaned") {
			t.Errorf("the sweep did not end it: %v", r)
		}
		wantNothingOwed(t, m, "less.service")
	})
}
