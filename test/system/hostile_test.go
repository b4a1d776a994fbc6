package system_test

import (
	"strings"
	"testing"

	"job-cleanup/pkg/journal"
	"job-cleanup/test/rig"
)

// TestCase39_environmentFile: a job writes the environment of its own hook,
// which has all rights. Nothing of it acts with them.
func TestCase39_environmentFile(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		m.Shell("useradd worker; mkdir -p /srv/jobs /var/tmp/roots-tree/sub; chown worker: /srv/jobs; touch /var/tmp/roots-tree/file")
		m.Write("/usr/local/bin/attacker", 0o755, `#!/bin/sh -e
mkdir -p /var/tmp/own-tree/sub
cat >/srv/jobs/env <<END
LD_PRELOAD=/srv/jobs/evil.so
VAULT_ADDR=http://127.0.0.1:1
PATH=/srv/jobs
THEIRS=roots-tree
MINE=own-tree
END
exit 3
`)
		install(m, "sly.service", "[Service]\nType=oneshot\nUser=worker\nEnvironmentFile=-/srv/jobs/env\n"+arm+
			"ExecStart=/usr/local/bin/attacker\nExecStopPost=-+/usr/bin/job-cleanup run\n"+`
[X-Cleanup.Path]
Remove=/var/tmp/${THEIRS}

[X-Cleanup.Path]
Remove=/var/tmp/${MINE}

[X-Cleanup.Command]
Run=/bin/sh -c '/usr/bin/env >/srv/told/env; /usr/bin/id -u >>/srv/told/env'
`)
		runUnit(m, "sly.service")
		if !m.Exists("/var/tmp/roots-tree/file") || !m.Exists("/var/tmp/roots-tree/sub") {
			t.Fatalf("a job had root remove root's files: %v", said(m, "sly.service"))
		}
		if m.Exists("/var/tmp/own-tree") {
			t.Errorf("the job's own tree is there: %v", said(m, "sly.service"))
		}
		env := m.Shell("cat /srv/told/env")
		for _, planted := range []string{"LD_PRELOAD", "VAULT_ADDR", "/srv/jobs", "THEIRS"} {
			if strings.Contains(env, planted) {
				t.Errorf("a command of root's saw %s:\n%s", planted, env)
			}
		}
		for _, entry := range records(m, "sly.service", journal.Removed) {
			if strings.Contains(entry["JOB_CLEANUP_REF"], "roots-tree") {
				t.Errorf("it says %q", entry["MESSAGE"])
			}
		}
		wantVerdict(t, m, "sly.service", "exit-code", "3")
		wantSummary(t, m, "sly.service", bad3)
	})
}

// TestCase40_twoJobsOneRunner: the jobs of a CI runner share its unit, its
// control group and its INVOCATION_ID; each cleans only its own, while the
// runner goes on.
func TestCase40_twoJobsOneRunner(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		m.Write("/usr/local/bin/runner", 0o755, `#!/bin/sh
export GITLAB_CI=true
for id in 1 2; do
	mkdir -p /var/tmp/ci-$id/sub
	CI_JOB_ID=$id job-cleanup track path /var/tmp/ci-$id || echo "track $id: $?" >>/srv/told/trouble
done
wait_for() { while ! test -e "$1"; do sleep 0.05; done; }
for id in 1 2; do
	wait_for /srv/told/end-$id
	CI_JOB_ID=$id job-cleanup run >/srv/told/out-$id 2>&1 || echo "run $id: $?" >>/srv/told/trouble
	touch /srv/told/ended-$id
done
exec sleep infinity
`)
		install(m, "runner.service", "[Service]\nExecStart=/usr/local/bin/runner\n")
		m.Start("runner.service")
		for _, step := range []struct{ id, left string }{{"1", "ci-2"}, {"2", ""}} {
			m.Shell("touch /srv/told/end-" + step.id)
			m.WaitFor("job "+step.id+" cleaned up", soon, func() bool { return m.Exists("/srv/told/ended-" + step.id) })
			if left := m.Shell("cd /var/tmp && ls -d ci-* 2>/dev/null || true"); left != step.left {
				t.Errorf("after job %s %q is left, want %q", step.id, left, step.left)
			}
		}
		if m.Exists("/srv/told/trouble") {
			t.Errorf("%s\n%s", m.Shell("cat /srv/told/trouble"), m.Shell("cat /srv/told/out-*"))
		}
		summaries := m.Journal("JOB_CLEANUP_EVENT=" + string(journal.Summary))
		if len(summaries) != 2 || summaries[0]["JOB_CLEANUP_INVOCATION"] == summaries[1]["JOB_CLEANUP_INVOCATION"] {
			t.Errorf("summaries %v", summaries)
		}
		if state := m.Show("runner.service", "ActiveState")["ActiveState"]; state != "active" {
			t.Errorf("the runner is %s", state)
		}
	})
}
