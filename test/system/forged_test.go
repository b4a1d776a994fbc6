package system_test

import (
	"strings"
	"testing"

	"job-cleanup/test/rig"
)

// TestForgedEnvironment: a job writes into the environment of its own lines
// with all rights what only the manager or a CI platform says there. It gains
// no base, no identity and no rights by it.
func TestForgedEnvironment(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		m.Shell("useradd worker; mkdir -p /srv/jobs /srv/victim /srv/creds; touch /srv/victim/file; chown worker: /srv/jobs")
		m.Write("/srv/jobs/env", 0o644, `GITLAB_CI=true
CI_JOB_ID=7
CI_PROJECT_DIR=/srv/victim
SYSTEMD_EXEC_PID=1
SERVICE_RESULT=success
INVOCATION_ID=00000000000000000000000000000001
CREDENTIALS_DIRECTORY=/srv/creds
VICTIM=victim
`)
		const steps = `
[X-Cleanup.Path]
Remove=/srv/${VICTIM}/file

[X-Cleanup.Command]
Run=/bin/sh -c '/usr/bin/id -u >>/srv/told/%N.uid'
`
		const common = "[Service]\nType=oneshot\nUser=worker\nEnvironmentFile=-/srv/jobs/env\n" +
			"ExecStart=/bin/sh -c 'cp /var/lib/job-cleanup/root/%n/*.jsonl /srv/told/ || :'\n"
		install(m, "full.service", common+arm+"ExecStopPost=-+/usr/bin/job-cleanup run\n"+steps)
		install(m, "unarmed.service", common+"ExecStopPost=-+/usr/bin/job-cleanup run\n"+steps)
		install(m, "plain.service", common+arm+"ExecStopPost=-/bin/true\n"+steps)
		for _, unit := range []string{"full", "unarmed", "plain"} {
			runUnit(m, unit+".service")
			if !m.Exists("/srv/victim/file") {
				t.Fatalf("%s: a job had root remove root's file: %v", unit, said(m, unit+".service"))
			}
		}
		// The hook of the last one has no rights of root's, so neither has a
		// later pass.
		m.Shell("job-cleanup sweep")
		if uid := m.Shell("cat /srv/told/plain.uid || :"); strings.Contains("\n"+uid, "\n0") {
			t.Errorf("a later pass ran a command of a job without rights as uid %q", uid)
		}
		if armed := m.Shell("ls /srv/told"); strings.Contains(armed, "gitlab") || strings.Contains(armed, "0000001") || !strings.Contains(armed, ".jsonl") {
			t.Errorf("armed as what the job said: %s", armed)
		}
	})
}

// TestForgedResult: a job can't have its cleanup left out by saying that it
// never ran.
func TestForgedResult(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		m.Shell("useradd worker; mkdir /srv/jobs; echo SERVICE_RESULT=exec-condition >/srv/jobs/env")
		install(m, "lying.service", "[Service]\nType=oneshot\nUser=worker\nEnvironmentFile=-/srv/jobs/env\n"+
			"ExecStart=/bin/sh -c 'mkdir /var/tmp/lying-tree; exit 3'\nExecStopPost=-+/usr/bin/job-cleanup run\n"+
			"[X-Cleanup.Path]\nRemove=/var/tmp/lying-tree\nWhen=failure\n")
		runUnit(m, "lying.service")
		if m.Exists("/var/tmp/lying-tree") {
			t.Errorf("the tree stays: %v", said(m, "lying.service"))
		}
		wantVerdict(t, m, "lying.service", "exit-code", "3")
	})
}
