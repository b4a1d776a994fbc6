package system_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"job-cleanup/pkg/journal"
	"job-cleanup/pkg/outcome"
	"job-cleanup/test/rig"
)

// shipped are the units of this repository, as a sysadmin installs them.
var shipped = []string{"job-cleanup-failure@.service", "examples/batch.service", "examples/batch@.service"}

// installShipped installs them, with a batch job that does as it is told.
func installShipped(t *testing.T, m *rig.Machine, batchJob string) {
	t.Helper()
	for _, name := range shipped {
		text, err := os.ReadFile(filepath.Join("../../units", name))
		if err != nil {
			t.Fatal(err)
		}
		m.Write("/etc/systemd/system/"+filepath.Base(name), 0o644, string(text))
	}
	m.Write("/usr/local/bin/run-batch-job.sh", 0o755, "#!/bin/sh\n"+batchJob)
	m.Shell("systemctl daemon-reload")
}

func TestShippedUnitsVerify(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		installShipped(t, m, "")
		for _, unit := range []string{"job-cleanup-failure@batch.service.service", "batch.service", `batch@a\x2db.service`} {
			if r := m.Run("systemd-analyze", "verify", "--man=no", unit); r.Code != 0 || r.Stderr != "" {
				t.Errorf("%s: %v", unit, r)
			}
		}
		m.Write("/etc/systemd/system/wrong.service", 0o644, "[Service]\nNoSuchKey=1\nExecStart=/bin/true\n")
		if r := m.Run("systemd-analyze", "verify", "--man=no", "wrong.service"); r.Stderr == "" {
			t.Error("verify finds nothing wrong with anything")
		}
	})
}

// TestShippedFolders: the folders that a package makes are as arm makes them.
func TestShippedFolders(t *testing.T) {
	const modes = "stat -c '%n %A %U %G' /var/lib/job-cleanup /run/job-cleanup"
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		text, err := os.ReadFile("../../packaging/tmpfiles.conf")
		if err != nil {
			t.Fatal(err)
		}
		m.Write("/usr/lib/tmpfiles.d/job-cleanup.conf", 0o644, string(text))
		m.Shell("systemd-tmpfiles --create job-cleanup.conf")
		packaged := m.Shell(modes)
		m.Shell("rmdir /var/lib/job-cleanup /run/job-cleanup")
		install(m, "armed.service", oneshot("ExecStart=/bin/true", steps))
		runUnit(m, "armed.service")
		for _, line := range strings.Split(packaged, "\n") {
			folder, _, _ := strings.Cut(line, " ")
			if m.Exists(folder) && m.Shell("stat -c '%n %A %U %G' "+folder) != line {
				t.Errorf("packaged as %q, armed as %q", line, m.Shell("stat -c '%n %A %U %G' "+folder))
			}
		}
		if !m.Exists("/var/lib/job-cleanup") {
			t.Error("arm made no folder")
		}
	})
}

// TestShippedOneshot: the example works in its own sandbox.
func TestShippedOneshot(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		installShipped(t, m, `set -e
mkdir -p /var/lib/batch/work/sub && touch /var/lib/batch/kept /tmp/mine
chmod 0000 /var/lib/batch/work/sub
exec 9>/var/lib/batch/lock && flock -n 9
systemd-run -q --unit=batch-helper sleep infinity
exit 3
`)
		runUnit(m, "batch.service")
		if got := m.Shell("ls /var/lib/batch"); got != "kept" {
			t.Errorf("in the state folder is %q; %v", got, said(m, "batch.service"))
		}
		if state := m.Show("batch-helper.service", "ActiveState")["ActiveState"]; state == "active" {
			t.Error("the helper runs")
		}
		wantVerdict(t, m, "batch.service", "exit-code", "3")
		if n := len(records(m, "batch.service", journal.Unrecorded)); n != 0 {
			t.Errorf("%d times unrecorded", n)
		}
		summaries := records(m, "batch.service", journal.Summary)
		if len(summaries) == 0 {
			t.Fatalf("no summary: %v", said(m, "batch.service"))
		}
		wantFields(t, summaries[0], rig.Entry{"SERVICE_RESULT": "exit-code", "EXIT_STATUS": "3", "JOB_CLEANUP_OWED": summaries[0]["JOB_CLEANUP_OWED"], "PRIORITY": "6"})
		settle(m, "job-cleanup-failure@batch.service.service")
		if got := m.Show("job-cleanup-failure@batch.service.service", "Result")["Result"]; got != "success" {
			t.Errorf("the handler ended %q", got)
		}
		wantNothingOwed(t, m, "batch.service")
	})
}

// TestShippedTemplate: two instances, one of which goes on.
func TestShippedTemplate(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		installShipped(t, m, `mkdir -p "/var/tmp/batch-$1.partial/sub"
test "$1" = live || exit 3
touch /var/tmp/live && exec sleep infinity
`)
		m.Shell("systemctl start --no-block batch@live.service")
		m.WaitFor("the live instance", soon, func() bool { return m.Exists("/var/tmp/live") })
		const unit = `batch@a\x2db.service`
		runUnit(m, unit)
		handler := "job-cleanup-failure@" + unit + ".service"
		settle(m, handler)
		if got := m.Shell("cd /var/tmp && ls -d batch-*"); got != "batch-a\\x2db.failed\nbatch-live.partial" {
			t.Errorf("left is %q; %v", got, said(m, unit))
		}
		wantVerdict(t, m, unit, "exit-code", "3")
		wantNothingOwed(t, m, unit)
	})
}

// TestFailureHandler: for a unit without a hook, the handler is told which
// invocation failed and how.
func TestFailureHandler(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		installShipped(t, m, "")
		const unit = `hookless@a\x2db.service`
		install(m, "hookless@.service", "[Unit]\nOnFailure=job-cleanup-failure@%n.service\n\n[Service]\nType=oneshot\n"+arm+
			`ExecStart=/bin/sh -c 'mkdir -p /var/tmp/hookless-tree/sub; kill -KILL $$$$'
`+`
[X-Cleanup.Path]
Remove=/var/tmp/%p-tree
`)
		runUnit(m, unit)
		m.WaitFor("the handler's summary", soon, func() bool { return len(records(m, unit, journal.Summary)) > 0 })
		summary := wantSummary(t, m, unit, outcome.Outcome{Result: "signal", Code: "killed", Status: "KILL"})
		wantFields(t, summary, rig.Entry{"JOB_CLEANUP_INVOCATION": m.Show(unit, "InvocationID")["InvocationID"]})
		if m.Exists("/var/tmp/hookless-tree") {
			t.Errorf("the tree is there: %v", said(m, unit))
		}
		wantNothingOwed(t, m, unit)
	})
}

// TestHandlerOnce: what the hook has done the handler does not do again, and
// what it could not do it does.
func TestHandlerOnce(t *testing.T) {
	const failing = "\n[X-Cleanup.Command]\nRun=/bin/sh -c 'echo ran >>/srv/told/%N'\n"
	const unit = "[Unit]\nOnFailure=job-cleanup-failure@%n.service\n"
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		installShipped(t, m, "")
		install(m, "done.service", unit+oneshot("ExecStart=false", failing))
		install(m, "owing.service", unit+oneshot("ProtectSystem=strict\nReadWritePaths=-/var/lib/job-cleanup\nExecStart=false", failing))
		for _, name := range []string{"done", "owing"} {
			runUnit(m, name+".service")
			handler := "job-cleanup-failure@" + name + ".service.service"
			m.WaitFor("the handler", soon, func() bool {
				return m.Shell("journalctl -q -o cat -n 1 -u "+handler+" --grep '^Finished' || true") != ""
			})
			if got := m.Shell("cat /srv/told/" + name); got != "ran" {
				t.Errorf("%s: the command left %q; %v", name, got, said(m, name+".service"))
			}
		}
		if n := len(records(m, "done.service", journal.Summary)); n != 1 {
			t.Errorf("%d summaries: %v", n, said(m, "done.service"))
		}
	})
}
