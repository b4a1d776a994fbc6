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

// bare is a unit of somebody who knows of job-cleanup only its sections.
const bare = `[Service]
Type=oneshot
ExecStart=/bin/sh -c 'mkdir -p /var/tmp/bare-tree/sub; touch /var/tmp/bare-tree/file; kill -KILL $$$$'

[X-Cleanup.Path]
Remove=/var/tmp/%N-tree
`

// debtor leaves what can't be removed as long as something is mounted in it.
const debtor = `[Service]
Type=oneshot
ExecStart=/bin/sh -c 'mkdir -p /var/tmp/debtor-tree/mounted; mount -t tmpfs tmpfs /var/tmp/debtor-tree/mounted; exit 3'

[X-Cleanup.Path]
Remove=/var/tmp/%N-tree
`

// TestDeb follows one machine from the first install to the purge.
func TestDeb(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		before := files(m)
		apt(t, m, "install", older)
		wantInstalled(t, m)
		wantStory(t, m)

		m.Write("/etc/systemd/system/debtor.service", 0o644, debtor)
		m.Shell("systemctl disable -q " + boot + "; systemctl daemon-reload")
		m.Start("debtor.service")
		wantOwed(t, m, true)

		apt(t, m, "install", newer)
		if got := m.Shell("job-cleanup version"); !strings.Contains(got, newer) {
			t.Errorf("the version is %q", got)
		}
		wantState(t, m, timer, "enabled", "active")
		wantState(t, m, boot, "disabled", "inactive")
		wantOwed(t, m, true)

		if said := apt(t, m, "remove", ""); !strings.Contains(said, "still owe") {
			t.Errorf("the removal says nothing of the debt: %s", said)
		}
		wantRemoved(t, m)
		if m.Shell("find /var/lib/job-cleanup -name '*.jsonl'") == "" {
			t.Error("the removal took the ledger of a debt")
		}

		apt(t, m, "install", newer)
		wantState(t, m, timer, "enabled", "active")
		wantState(t, m, boot, "disabled", "inactive")
		m.Shell("umount /var/tmp/debtor-tree/mounted; job-cleanup sweep --all")
		wantOwed(t, m, false)
		if m.Exists("/var/tmp/debtor-tree") {
			t.Error("the sweep left the tree")
		}

		apt(t, m, "purge", "")
		wantRemoved(t, m)
		m.Shell("rm /etc/systemd/system/bare.service /etc/systemd/system/debtor.service")
		if left := added(before, files(m)); len(left) > 0 {
			t.Errorf("the purge leaves %q", left)
		}
	})
}

// TestDeb_removedClean: where nothing is owed, a removal alone leaves nothing.
func TestDeb_removedClean(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		apt(t, m, "install", newer)
		wantStory(t, m)
		m.Shell("systemctl disable -q --now " + timer)
		apt(t, m, "install", newer, "--reinstall")
		wantState(t, m, timer, "disabled", "inactive")
		apt(t, m, "remove", "")
		wantRemoved(t, m)
		if m.Exists("/var/lib/job-cleanup") || m.Exists("/run/job-cleanup") {
			t.Errorf("left is %s", m.Shell("find /var/lib/job-cleanup /run/job-cleanup || true"))
		}
	})
}

// apt installs a version, or removes or purges the package.
func apt(t *testing.T, m *rig.Machine, verb, version string, options ...string) string {
	t.Helper()
	what := "job-cleanup"
	if version != "" {
		what = "/srv/packages/" + version + "/" + filepath.Base(find(t, version, ".deb"))
	}
	args := append([]string{"env", "DEBIAN_FRONTEND=noninteractive", "apt-get", verb, "-y", "-q", "--no-install-recommends"}, options...)
	r := m.Run(append(args, what)...)
	if r.Code != 0 {
		t.Fatalf("apt-get %s %s: %v", verb, what, r)
	}
	return r.Stdout + r.Stderr
}

// wantInstalled: the timer runs, a sweep was done, systemd finds no fault.
func wantInstalled(t *testing.T, m *rig.Machine) {
	t.Helper()
	wantState(t, m, timer, "enabled", "active")
	wantState(t, m, boot, "enabled", "inactive")
	if list := m.Shell("systemctl list-timers --no-legend"); !strings.Contains(list, timer) {
		t.Errorf("the timers are %s", list)
	}
	wantSweep(t, m)
	units := strings.Fields(m.Shell("dpkg -L job-cleanup | grep -E '/system/.*\\.(service|timer)$'"))
	if r := m.Run(append([]string{"systemd-analyze", "verify", "--man=no"}, units...)...); r.Code != 0 || r.Stderr != "" {
		t.Errorf("verify %q: %v", units, r)
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

// wantStory: somebody adds a section to a unit and reloads; its job is killed.
func wantStory(t *testing.T, m *rig.Machine) {
	t.Helper()
	m.Write("/etc/systemd/system/bare.service", 0o644, bare)
	m.Shell("systemctl daemon-reload")
	m.Start("bare.service")
	if got := m.Show("bare.service", "Result")["Result"]; got != "signal" {
		t.Errorf("the unit's result is %q", got)
	}
	if m.Exists("/var/tmp/bare-tree") {
		t.Error("the residue is there")
	}
	if got := m.Shell("job-cleanup history bare.service"); !strings.Contains(got, "bare.service") || !strings.Contains(got, "signal") {
		t.Errorf("history: %s", got)
	}
	explained := m.Shell("journalctl -q --no-pager -x -t job-cleanup OBJECT_SYSTEMD_UNIT=bare.service + -q -x -t job-cleanup JOB_CLEANUP_UNIT=bare.service")
	for _, want := range []string{"Subject: Residue of bare.service was removed", "Subject: A cleanup for bare.service is over", "job-cleanup history bare.service --invocation"} {
		if !strings.Contains(explained, want) {
			t.Errorf("journalctl -x has no %q: %s", want, explained)
		}
	}
	wantOwed(t, m, false)
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
		if left := m.Shell("systemctl --no-legend " + list + " 'job-cleanup*' | grep -v masked || true"); left != "" {
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

// files lists the machine's files but for what apt, dpkg and the journal write
// for themselves.
func files(m *rig.Machine) []string {
	return strings.Split(m.Shell("find / /run -xdev \\( -path /proc -o -path /sys -o -path /srv/packages -o -path /var/log -o -path /run/log -o -path /var/lib/apt"+
		" -o -path /var/cache -o -path /var/lib/dpkg -o -path /run/systemd -o -path /tmp -o -path /var/tmp -o -path /run/dbus \\) -prune -o -print"), "\n")
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
