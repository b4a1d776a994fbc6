package system_test

import (
	"strings"
	"testing"

	"job-cleanup/test/rig"
)

// TestRootsAlone: what a job may not track is owed once, in root's ledger, also
// when the hook of a plain user could not do it; and is struck off there.
func TestRootsAlone(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		m.Shell("useradd worker && systemd-run -q --unit=plain-helper sleep infinity")
		install(m, "plain.service", oneshot("User=worker\nExecStart=/bin/true",
			"\n[X-Cleanup.Command]\nRun=/usr/bin/test -e /srv/told/%N.ready\n\n[X-Cleanup.Path]\nRemove=/var/tmp/%N-tree\n"+helperStep))
		m.Shell("mkdir -m 700 /var/tmp/plain-tree")
		runUnit(m, "plain.service")
		status := m.Shell("job-cleanup status --json plain.service")
		for _, kind := range []string{"command", "unit"} {
			if n := strings.Count(status, `"kind":"`+kind+`"`); n != 1 {
				t.Errorf("%d debts of kind %s:\n%s", n, kind, status)
			}
		}
		m.Shell("touch /srv/told/plain.ready && job-cleanup sweep --all")
		wantNothingOwed(t, m, "plain.service")
		if state := m.Show("plain-helper.service", "ActiveState")["ActiveState"]; state != "inactive" {
			t.Errorf("the helper is %s", state)
		}
	})
}
