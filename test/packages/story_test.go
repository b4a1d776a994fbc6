package packages_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"job-cleanup/test/rig"
)

// The units that a package enables.
const timer, boot = "job-cleanup-sweep.timer", "job-cleanup-sweep-boot.service"

// bare is a unit of somebody who knows nothing of job-cleanup.
const bare = `[Service]
Type=oneshot
ExecStart=/bin/sh -c 'mkdir -p /var/tmp/bare-tree/sub; touch /var/tmp/bare-tree/file; kill -KILL $$$$'
`

// section is what they add to it.
const section = `[X-Cleanup.Path]
Remove=/var/tmp/%N-tree
`

// debtor leaves what can't be removed as long as something is mounted in it.
const debtor = `[Service]
Type=oneshot
ExecStart=/bin/sh -c 'mkdir -p /var/tmp/debtor-tree/mounted; mount -t tmpfs tmpfs /var/tmp/debtor-tree/mounted; exit 3'

` + section

// packageOf is where a machine sees the package of a version.
func packageOf(t *testing.T, version, suffix string) string {
	t.Helper()
	return "/srv/packages/" + version + "/" + filepath.Base(find(t, version, suffix))
}

// wantInstalled: the timer runs, a sweep was done, systemd finds no fault, and
// journalctl knows all ids. The list is of the package's files.
func wantInstalled(t *testing.T, m *rig.Machine, list string) {
	t.Helper()
	wantState(t, m, timer, "enabled", "active")
	wantState(t, m, boot, "enabled", "inactive")
	if got := m.Shell("systemctl list-timers --no-legend"); !strings.Contains(got, timer) {
		t.Errorf("the timers are %s", got)
	}
	wantSweep(t, m)
	verify := []string{"systemd-analyze", "verify", "--man=no"}
	for _, path := range strings.Fields(list) {
		if strings.HasPrefix(path, "/usr/lib/systemd/system/") && filepath.Ext(path) != "" {
			verify = append(verify, path)
		}
	}
	if r := m.Run(verify...); len(verify) != 7 || r.Code != 0 || r.Stderr != "" {
		t.Errorf("%q: %v", verify, r)
	}
	ids := strings.Fields(m.Shell("sed -n 's/^-- //p' /usr/lib/systemd/catalog/job-cleanup.catalog"))
	if known := m.Shell("journalctl --list-catalog " + strings.Join(ids, " ")); len(ids) < 10 || strings.Count(known+"\n", "\n") != len(ids) {
		t.Errorf("of %d ids journalctl knows: %s", len(ids), known)
	}
}

// wantSweep has the timer elapse in a second, not two minutes after the boot.
func wantSweep(t *testing.T, m *rig.Machine) {
	t.Helper()
	const folder = "/etc/systemd/system/" + timer + ".d"
	m.Write(folder+"/soon.conf", 0o644, "[Timer]\nOnActiveSec=1s\nRandomizedDelaySec=0\n")
	m.Shell("systemctl daemon-reload; systemctl restart " + timer)
	m.WaitFor("a sweep", time.Minute, func() bool {
		show := m.Show("job-cleanup-sweep.service", "Result", "ExecMainExitTimestampMonotonic", "ActiveState")
		return show["ExecMainExitTimestampMonotonic"] != "0" && show["Result"] == "success" && show["ActiveState"] == "inactive"
	})
	m.Shell("rm -r " + folder + "; systemctl daemon-reload")
}

// wantStory: a job is killed and leaves a tree. Somebody adds a section to its
// unit and reloads; the job is killed again.
func wantStory(t *testing.T, m *rig.Machine) {
	t.Helper()
	const unit = "/etc/systemd/system/bare.service"
	m.Write(unit, 0o644, bare)
	m.Shell("systemctl daemon-reload")
	m.Start("bare.service")
	if !m.Exists("/var/tmp/bare-tree/file") {
		t.Error("there is no residue without a section")
	}
	m.Write(unit, 0o644, bare+section)
	m.Shell("systemctl daemon-reload")
	m.Start("bare.service")
	if got := m.Show("bare.service", "Result")["Result"]; got != "signal" {
		t.Errorf("the unit's result is %q", got)
	}
	if m.Exists("/var/tmp/bare-tree") {
		t.Error("the residue is there")
	}
	if got := m.Shell("job-cleanup history bare.service"); !strings.Contains(got, "bare.service") || !strings.Contains(got, "signal KILL") {
		t.Errorf("history: %s", got)
	}
	wantExplained(t, m, "bare.service", "Subject: Residue of bare.service was removed", "Subject: A cleanup for bare.service is over",
		"job-cleanup history bare.service --invocation "+m.Show("bare.service", "InvocationID")["InvocationID"])
	wantOwed(t, m, false)
	if got := m.Shell("job-cleanup status"); got != "Nothing is owed." {
		t.Errorf("status: %s", got)
	}
}

// wantExplained asks what journalctl -x says of a unit.
func wantExplained(t *testing.T, m *rig.Machine, unit string, want ...string) {
	t.Helper()
	m.Shell("journalctl --sync")
	explained := m.Shell("journalctl -q --no-pager -x -t job-cleanup JOB_CLEANUP_UNIT=" + unit)
	for _, text := range want {
		if !strings.Contains(explained, text) {
			t.Errorf("journalctl -x has no %q: %s", text, explained)
		}
	}
	if strings.Contains(explained, "@JOB_CLEANUP") {
		t.Errorf("journalctl -x left a field unread: %s", explained)
	}
}

// wantCommands: each command that the catalog names can be given.
func wantCommands(t *testing.T, m *rig.Machine, unit string) {
	t.Helper()
	fields := strings.NewReplacer("@JOB_CLEANUP_UNIT@", unit, "@JOB_CLEANUP_INVOCATION@", m.Show(unit, "InvocationID")["InvocationID"])
	lines := m.Shell(`sed -n 's/^    \(job-cleanup .*\)/\1/p' /usr/lib/systemd/catalog/job-cleanup.catalog | sort -u`)
	for line := range strings.Lines(fields.Replace(lines)) {
		if r := m.Run(strings.Fields(line)...); r.Code != 0 || r.Stderr != "" {
			t.Errorf("%s: %v", line, r)
		}
	}
}

// owe has a job leave what can't be removed yet.
func owe(t *testing.T, m *rig.Machine) {
	t.Helper()
	m.Write("/etc/systemd/system/debtor.service", 0o644, debtor)
	m.Shell("systemctl daemon-reload")
	m.Start("debtor.service")
	wantOwed(t, m, true)
	wantExplained(t, m, "debtor.service", "Subject: Residue of debtor.service is still owed", `"mount-point"`, "job-cleanup run debtor.service")
}

// pay takes away what was in the way of the debt, and has it swept.
func pay(t *testing.T, m *rig.Machine) {
	t.Helper()
	m.Shell("umount /var/tmp/debtor-tree/mounted; job-cleanup sweep --all")
	wantOwed(t, m, false)
	if m.Exists("/var/tmp/debtor-tree") {
		t.Error("the sweep left the tree")
	}
}

// wantOwed asks whether anything is owed.
func wantOwed(t *testing.T, m *rig.Machine, want bool) {
	t.Helper()
	if got := m.Shell("job-cleanup status --json"); strings.Contains(got, `"unit"`) != want {
		t.Errorf("owed: %s", got)
	}
}

func wantState(t *testing.T, m *rig.Machine, unit, enabled, active string) {
	t.Helper()
	show := m.Show(unit, "UnitFileState", "ActiveState")
	if show["UnitFileState"] != enabled || show["ActiveState"] != active {
		t.Errorf("%s is %v, want %s and %s", unit, show, enabled, active)
	}
}

// wantRemoved: systemd knows no unit of ours any more, nor the journal a text.
func wantRemoved(t *testing.T, m *rig.Machine) {
	t.Helper()
	for _, list := range []string{"list-units --all --plain", "list-unit-files"} {
		if left := m.Run("sh", "-c", "systemctl --no-legend "+list+" 'job-cleanup*'").Stdout; left != "" {
			t.Errorf("left of units: %s", left)
		}
	}
	if m.Exists("/run/systemd/generator/bare.service.d") {
		t.Error("left of the generator: its wiring")
	}
	if r := m.Run("journalctl", "--list-catalog", "858e453a413d480eb41da080cb057165"); r.Code == 0 {
		t.Errorf("left of the catalog: %v", r)
	}
	if m.Exists("/usr/bin/job-cleanup") {
		t.Error("the program is there")
	}
}

// wantVersion asks the program for its version.
func wantVersion(t *testing.T, m *rig.Machine, want string) {
	t.Helper()
	if got := m.Shell("job-cleanup version"); !strings.Contains(got, want) {
		t.Errorf("the version is %q", got)
	}
}

// wantLedger: the ledger of the debt is there.
func wantLedger(t *testing.T, m *rig.Machine) {
	t.Helper()
	if m.Shell("find /var/lib/job-cleanup -name '*.jsonl'") == "" {
		t.Error("the removal took the ledger of a debt")
	}
}

// wantNoTrace: the machine's files are those from before, and of the tests.
func wantNoTrace(t *testing.T, m *rig.Machine, before []string) {
	t.Helper()
	m.Shell("rm -f /etc/systemd/system/bare.service /etc/systemd/system/debtor.service")
	if left := added(before, files(m)); len(left) > 0 {
		t.Errorf("the removal leaves %q", left)
	}
}

// files lists the machine's files but for what apt, dpkg, rpm and the journal write
// for themselves.
func files(m *rig.Machine) []string {
	return strings.Split(m.Shell("find / /run -xdev \\( -path /proc -o -path /sys -o -path /srv/packages -o -path /var/log -o -path /run/log -o -path /var/lib/apt"+
		" -o -path /var/cache -o -path /var/lib/dpkg -o -path /run/systemd -o -path /tmp -o -path /var/tmp -o -path /run/dbus -o -path /root/.rpmdb \\) -prune -o -print"), "\n")
}

// added are the lines that only the second list has.
func added(before, after []string) []string {
	known := map[string]bool{}
	for _, line := range before {
		known[line] = true
	}
	var more []string
	for _, line := range after {
		if !known[line] {
			more = append(more, line)
		}
	}
	return more
}
