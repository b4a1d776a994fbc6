package system_test

import (
	"strings"
	"testing"

	"job-cleanup/pkg/journal"
	"job-cleanup/pkg/outcome"
	"job-cleanup/test/rig"
)

// generatorPath is where a package links the program, so that systemd calls it
// at boot and reload.
const generatorPath = "/usr/lib/systemd/system-generators/job-cleanup-generator"

func installGenerator(m *rig.Machine) {
	m.Shell("mkdir -p /usr/lib/systemd/system-generators && ln -s /usr/bin/job-cleanup " + generatorPath)
}

// TestGenerator: a unit gets nothing but [X-Cleanup] sections; after a reload
// its job is killed, and the residue goes.
func TestGenerator(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		installGenerator(m)
		install(m, "bare.service", "[Service]\nType=oneshot\nExecStartPre=/bin/mkdir -p /var/tmp/bare-tree/own\n"+
			"ExecStart=/bin/sh -c 'test -d /var/tmp/bare-tree/own || exit 9; touch /var/tmp/bare-tree/file; kill -KILL $$$$'\n")
		m.Shell("mkdir -p /etc/systemd/system/bare.service.d")
		m.Write("/etc/systemd/system/bare.service.d/50-plan.conf", 0o644, "[X-Cleanup.Path]\nRemove=/var/tmp/%N-tree\n")
		m.Shell("systemctl daemon-reload")
		if r := m.Run("systemd-analyze", "verify", "--man=no", "bare.service"); r.Code != 0 || r.Stderr != "" {
			t.Errorf("verify: %v", r)
		}
		runUnit(m, "bare.service")
		wantVerdict(t, m, "bare.service", "signal", "9")
		if m.Exists("/var/tmp/bare-tree") {
			t.Errorf("the tree is there: %v", said(m, "bare.service"))
		}
		wantSummary(t, m, "bare.service", outcome.Outcome{Result: "signal", Code: "killed", Status: "KILL"})
		wantRecord(t, m, "bare.service", journal.Removed, "path", "/var/tmp/bare-tree")
		wantNothingOwed(t, m, "bare.service")
	})
}

// TestGeneratorTemplate: the drop-in of a template is every instance's, in a
// sandbox too, and a unit with hooks of its own is left as it is.
func TestGeneratorTemplate(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		installGenerator(m)
		install(m, "many@.service", "[Service]\nType=oneshot\nProtectSystem=strict\nStateDirectory=many\nPrivateTmp=yes\n"+
			"ExecStart=/bin/sh -c 'mkdir -p %S/many/%i/sub; exit 3'\n\n[X-Cleanup.Path]\nRemove=%S/many/%i\n")
		install(m, "own.service", oneshot("ExecStart=/bin/true", "\n[X-Cleanup.Path]\nRemove=/var/tmp/own-tree\n"))
		for _, unit := range []string{"many@a.service", "own.service"} {
			if r := m.Run("systemd-analyze", "verify", "--man=no", unit); r.Code != 0 || r.Stderr != "" {
				t.Errorf("verify: %v", r)
			}
		}
		if got := m.Shell("ls /run/systemd/generator | grep -E '^(many|own)'"); got != "many@.service.d" {
			t.Errorf("generated is %q", got)
		}
		runUnit(m, "many@a.service")
		wantVerdict(t, m, "many@a.service", "exit-code", "3")
		if got := m.Shell("ls /var/lib/many"); got != "" {
			t.Errorf("left is %q: %v", got, said(m, "many@a.service"))
		}
		if n := len(records(m, "many@a.service", journal.Unrecorded)); n != 0 {
			t.Errorf("%d times unrecorded", n)
		}
		wantNothingOwed(t, m, "many@a.service")
	})
}

// TestGenerateVerify: systemd finds no fault in what generate writes.
func TestGenerateVerify(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		installShipped(t, m, "")
		m.Shell("useradd worker; cd /etc/systemd/system && rm batch.service batch@.service")
		m.Shell("job-cleanup generate unit batch --exec /usr/local/bin/run-batch-job.sh --step 'Path Remove=/var/tmp/batch' --output /etc/systemd/system")
		m.Shell("job-cleanup generate unit many@ --exec '/usr/local/bin/run-batch-job.sh %i' --run-as worker --step 'Path Remove=%S/%N/work' --output /etc/systemd/system")
		m.Shell("job-cleanup generate timer batch --calendar daily --output /etc/systemd/system")
		m.Write("/etc/systemd/system/old.service", 0o644, "[Service]\nType=oneshot\nExecStartPre=/bin/true\nExecStart=/bin/true\nProtectSystem=strict\n")
		m.Shell("job-cleanup generate dropin old --output /etc/systemd/system && systemctl daemon-reload")
		for _, unit := range []string{"batch.service", "batch.timer", "many@x.service", "old.service"} {
			if r := m.Run("systemd-analyze", "verify", "--man=no", unit); r.Code != 0 || r.Stderr != "" {
				t.Errorf("verify %s: %v", unit, r)
			}
		}
		if r := m.Run("job-cleanup", "check", "batch.service", "many@x.service", "old.service"); r.Code != 0 || !strings.HasPrefix(r.Stdout, "3 plans checked: 0 errors, 0 warnings") {
			t.Errorf("check: %v", r)
		}
		runUnit(m, "batch.service")
		wantVerdict(t, m, "batch.service", "success", "0")
	})
}

// TestCheckAll: every loaded oneshot without a cleanup is listed, a unit with a
// fault makes the exit code.
func TestCheckAll(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		loaded := func(name, text string) {
			install(m, name, text)
			m.Shell("mkdir -p /etc/systemd/system/multi-user.target.wants && ln -s ../" + name + " /etc/systemd/system/multi-user.target.wants/ && systemctl daemon-reload && systemctl list-dependencies multi-user.target >/dev/null")
		}
		loaded("naked.service", "[Service]\nType=oneshot\nExecStart=/bin/true\n")
		loaded("good.service", oneshot("ExecStart=/bin/true", steps))
		r := m.Run("job-cleanup", "check", "--all")
		if r.Code != 0 || !strings.Contains(r.Stdout, "/naked.service: note: no cleanup at all [no-cleanup]") ||
			!strings.Contains(r.Stdout, "[no-sweep]") || strings.Contains(r.Stdout, "good.service") || !strings.Contains(r.Stdout, "1 plan checked: 0 errors") {
			t.Errorf("check --all: %v", r)
		}
		m.Write("/etc/systemd/system/job-cleanup-sweep.timer", 0o644, "[Timer]\nOnCalendar=yearly\nUnit=naked.service\n")
		m.Shell("systemctl daemon-reload && systemctl start job-cleanup-sweep.timer")
		if r := m.Run("job-cleanup", "check"); r.Code != 0 || r.Stdout != "1 plan checked: 0 errors, 0 warnings\n" {
			t.Errorf("check: %v", r)
		}
		loaded("wrong.service", oneshot("RemainAfterExit=yes\nExecStart=/bin/true", steps))
		if r := m.Run("job-cleanup", "check"); r.Code != 1 || !strings.Contains(r.Stdout, "[remain-after-exit]") || strings.Contains(r.Stdout, "naked") {
			t.Errorf("check: %v", r)
		}
		m.Run("systemctl", "stop", "wrong.service")
	})
}
