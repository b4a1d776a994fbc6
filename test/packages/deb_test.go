package packages_test

import (
	"strings"
	"testing"

	"job-cleanup/test/rig"
)

// TestDeb follows one machine from the first install to the purge.
func TestDeb(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		before := files(m)
		apt(t, m, "install", older)
		wantInstalled(t, m, m.Shell("dpkg -L job-cleanup"))
		wantStory(t, m)

		m.Shell("systemctl disable -q " + boot)
		owe(t, m)
		wantCommands(t, m, "debtor.service")
		apt(t, m, "install", newer)
		wantVersion(t, m, newer)
		wantState(t, m, timer, "enabled", "active")
		wantState(t, m, boot, "disabled", "inactive")
		wantOwed(t, m, true)

		if said := apt(t, m, "remove", ""); !strings.Contains(said, "still owe") {
			t.Errorf("the removal says nothing of the debt: %s", said)
		}
		wantRemoved(t, m)
		wantLedger(t, m)

		apt(t, m, "install", newer)
		wantState(t, m, timer, "enabled", "active")
		wantState(t, m, boot, "disabled", "inactive")
		pay(t, m)

		apt(t, m, "purge", "")
		wantRemoved(t, m)
		wantNoTrace(t, m, before)
	})
}

// TestDeb_removed: where nothing is owed, a removal alone leaves nothing.
func TestDeb_removed(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		before := files(m)
		apt(t, m, "install", newer)
		wantStory(t, m)
		apt(t, m, "remove", "")
		wantRemoved(t, m)
		wantNoTrace(t, m, before)
	})
}

// TestDeb_choices: what an administrator said about the timer holds.
func TestDeb_choices(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		const preset = "/etc/systemd/system-preset/00-site.preset"
		m.Write(preset, 0o644, "disable *\n")
		dpkg(t, m, "-i", packageOf(t, older, ".deb"))
		wantState(t, m, timer, "disabled", "inactive")
		dpkg(t, m, "-P", "job-cleanup")
		m.Shell("rm " + preset)

		dpkg(t, m, "-i", packageOf(t, older, ".deb"))
		wantState(t, m, timer, "enabled", "active")
		m.Shell("systemctl stop " + timer + "; systemctl mask -q " + timer)
		dpkg(t, m, "-i", packageOf(t, newer, ".deb"))
		wantState(t, m, timer, "masked", "inactive")
		m.Shell("systemctl unmask -q " + timer + "; systemctl disable -q " + timer)
		dpkg(t, m, "-i", packageOf(t, newer, ".deb"))
		wantState(t, m, timer, "disabled", "inactive")
		dpkg(t, m, "-r", "job-cleanup")
		dpkg(t, m, "-i", packageOf(t, newer, ".deb"))
		wantState(t, m, timer, "disabled", "inactive")
	})
}

// TestDeb_chroot: where no systemd runs, as in an image that is being made, all
// is there at the next boot. A damaged ledger may be a debt.
func TestDeb_chroot(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		before := files(m)
		m.Shell("cp " + packageOf(t, newer, ".deb") + " /var/tmp/new.deb; mkdir /tmp/image; mount --bind / /tmp/image")
		inImage := func(args ...string) string {
			defer m.Shell("systemctl daemon-reload")
			return command(t, m, append([]string{"chroot", "/tmp/image", "dpkg"}, args...)...)
		}
		inImage("-i", "/var/tmp/new.deb")
		wantState(t, m, timer, "enabled", "inactive")
		wantState(t, m, boot, "enabled", "inactive")

		const damaged = "/var/lib/job-cleanup/root/a.service/0123.damaged-1"
		m.Write(damaged, 0o640, "{\n")
		if said := inImage("-r", "job-cleanup"); !strings.Contains(said, "still owe") || !m.Exists(damaged) {
			t.Errorf("the removal took a damaged ledger: %s", said)
		}
		wantRemoved(t, m)
		if said := inImage("-P", "job-cleanup"); !strings.Contains(said, "forgotten") {
			t.Errorf("the purge says nothing of it: %s", said)
		}
		wantNoTrace(t, m, before)
	})
}

// apt installs a version, or removes or purges the package.
func apt(t *testing.T, m *rig.Machine, verb, version string) string {
	t.Helper()
	what := "job-cleanup"
	if version != "" {
		what = packageOf(t, version, ".deb")
	}
	args := []string{"env", "DEBIAN_FRONTEND=noninteractive", "apt-get", verb, "-y", "-q", "--no-install-recommends", what}
	return command(t, m, args...)
}

// dpkg is what apt calls, and much faster.
func dpkg(t *testing.T, m *rig.Machine, args ...string) {
	t.Helper()
	command(t, m, append([]string{"dpkg"}, args...)...)
}

// command returns all that a command said.
func command(t *testing.T, m *rig.Machine, args ...string) string {
	t.Helper()
	r := m.Run(args...)
	if r.Code != 0 {
		t.Fatalf("%q: %v", args, r)
	}
	return r.Stdout + r.Stderr
}
