package system_test

import (
	"testing"

	"job-cleanup/pkg/journal"
	"job-cleanup/pkg/outcome"
	"job-cleanup/test/rig"
)

// TestTemplate: an instance cleans up its own, whatever characters its name
// has, and what expands to a backslash is a backslash.
func TestTemplate(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		install(m, "batch@.service", oneshot(`ExecStart=/bin/sh -ec 'mkdir -p "/var/tmp/batch-$1/sub" "/var/tmp/batch-$2"; exit 3' sh "%i" "%I"`, `
[X-Cleanup.Path]
Remove=/var/tmp/batch-%i
Remove=/var/tmp/batch-%I
`))
		const unit = `batch@a\x2db.service`
		m.Shell(`mkdir -p /var/tmp/batch-other '/var/tmp/batch-a?x2db' /var/tmp/batch-ax2db`)
		runUnit(m, unit)
		want := "batch-a?x2db\nbatch-ax2db\nbatch-other"
		if got := m.Shell("cd /var/tmp && ls -d batch-*"); got != want {
			t.Errorf("left are\n%s\nwant\n%s", got, want)
		}
		wantVerdict(t, m, unit, "exit-code", "3")
		wantSummary(t, m, unit, bad3)
		wantRecord(t, m, unit, journal.Removed, "path", `/var/tmp/batch-a\x2db`)
		wantRecord(t, m, unit, journal.Removed, "path", "/var/tmp/batch-a-b")
		wantNothingOwed(t, m, unit)
	})
}

// TestDropIns: a drop-in adds steps, and one that says Reset=yes drops those
// before it.
func TestDropIns(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		m.Write("/etc/systemd/system/drop.service.d/10-more.conf", 0o644, "[X-Cleanup.Path]\nRemove=/var/tmp/drop-more\n")
		install(m, "drop.service", oneshot("ExecStart=mkdir -p /var/tmp/drop-base /var/tmp/drop-more /var/tmp/drop-last",
			"\n[X-Cleanup.Path]\nRemove=/var/tmp/drop-base\n"))
		runUnit(m, "drop.service")
		if got := m.Shell("cd /var/tmp && ls -d drop-*"); got != "drop-last" {
			t.Errorf("with one drop-in %q is left", got)
		}

		m.Write("/run/systemd/system/drop.service.d/20-anew.conf", 0o644,
			"[X-Cleanup]\nReset=yes\n\n[X-Cleanup.Path]\nRemove=/var/tmp/drop-last\n")
		m.Shell("systemctl daemon-reload")
		runUnit(m, "drop.service")
		if got := m.Shell("cd /var/tmp && ls -d drop-*"); got != "drop-base\ndrop-more" {
			t.Errorf("after a reset %q is left", got)
		}
		wantVerdict(t, m, "drop.service", "success", "0")
		wantNothingOwed(t, m, "drop.service")
	})
}

// TestTransient: a unit made by systemd-run has no sections; its steps stand
// on the line.
func TestTransient(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		m.Shell("mkdir -p /var/tmp/passing-tree/sub /var/tmp/other-tree")
		result := m.Run("systemd-run", "-q", "--wait", "--unit=passing", "-p", "Type=oneshot", "-p", "RemainAfterExit=no",
			"-p", `ExecStopPost=-/usr/bin/job-cleanup run --step "Path Remove=/var/tmp/%N-tree"`, "sh", "-c", "exit 3")
		if result.Code == 0 { // 252 answers 1, 257 the job's own
			t.Errorf("systemd-run: %v", result)
		}
		if m.Exists("/var/tmp/passing-tree") || !m.Exists("/var/tmp/other-tree") {
			t.Errorf("left is %q; %v", m.Shell("ls /var/tmp"), said(m, "passing.service"))
		}
		wantSummary(t, m, "passing.service", bad3)
		wantRecord(t, m, "passing.service", journal.Removed, "path", "/var/tmp/passing-tree")
	})
}

// TestBadStep: a wrong step is refused with its line, the good ones run, and
// the job is none the worse.
func TestBadStep(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		install(m, "typo.service", oneshot("ExecStart=mkdir -p /var/tmp/typo-tree", `
[X-Cleanup.Paht]
Remove=/var/tmp/typo-other

[X-Cleanup.Path]
Remove=/var/tmp/${NOT_SET}

[X-Cleanup.Path]
Remove=/var/tmp/typo-tree
`))
		runUnit(m, "typo.service")
		if m.Exists("/var/tmp/typo-tree") {
			t.Error("the good step did not run")
		}
		wantVerdict(t, m, "typo.service", "success", "0")
		wantSummary(t, m, "typo.service", good)
		m.Shell("test -d /var/tmp") // ${NOT_SET} names this folder where unset means empty
	})
}

// TestCase14_littleIsTold: an older manager, a script or a person tells less
// than systemd does.
func TestCase14_littleIsTold(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		tests := []struct {
			unit string
			env  []string
			args []string
			want outcome.Outcome
		}{
			{"result.service", []string{"SERVICE_RESULT=core-dump"}, []string{"run"}, outcome.Outcome{Result: "core-dump"}},
			{"verbless.service", []string{"SERVICE_RESULT=new-word"}, nil, outcome.Outcome{Result: "new-word"}},
			{"nothing.service", nil, []string{"run"}, outcome.Outcome{Result: "unknown"}},
		}
		for _, test := range tests {
			m.Shell("mkdir -p /var/tmp/told-tree/sub")
			command := append([]string{"env", "-i"}, test.env...)
			command = append(append(command, "/usr/bin/job-cleanup"), test.args...)
			result := m.Run(append(command, "--unit", test.unit, "--step", "Path Remove=/var/tmp/told-tree")...)
			if result.Code != 0 {
				t.Errorf("%s: %v", test.unit, result)
			}
			if m.Exists("/var/tmp/told-tree") {
				t.Errorf("%s: the tree is there; %v", test.unit, said(m, test.unit))
			}
			wantSummary(t, m, test.unit, test.want)
		}
	})
}
