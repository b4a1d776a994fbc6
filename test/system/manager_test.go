package system_test

import (
	"testing"

	"job-cleanup/pkg/journal"
	"job-cleanup/test/rig"
)

// TestWithoutBus: what needs no bus works without one.
func TestWithoutBus(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		if m.Exists("/run/dbus/system_bus_socket") {
			t.Fatal("there is a bus")
		}
		m.Shell("useradd worker")
		install(m, "lone.service", oneshot("ExecStart=/usr/local/bin/job lone exit-3", steps))
		install(m, "lone-user.service", oneshot("User=worker\nExecStart=/usr/local/bin/job lone-user exit-3", steps))
		m.Write("/etc/systemd/system/lone.service.d/more.conf", 0o644, "[X-Cleanup.Path]\nRemove=/var/tmp/lone-more\n")
		m.Shell("systemctl daemon-reload; mkdir /var/tmp/lone-more")
		for _, name := range []string{"lone", "lone-user"} {
			runUnit(m, name+".service")
			if m.Exists("/var/tmp/"+name+"-tree") || m.Exists("/var/tmp/"+name+".lock") || m.Exists("/srv/told/"+name+".registered") {
				t.Errorf("%s left something: %v", name, said(m, name+".service"))
			}
			wantVerdict(t, m, name+".service", "exit-code", "3")
			wantSummary(t, m, name+".service", bad3)
		}
		if m.Exists("/var/tmp/lone-more") {
			t.Error("the drop-in was not found without a bus")
		}
		wantNothingOwed(t, m, "lone.service")
	}, rig.WithoutBus())
}

// TestUserManager: a unit of `systemctl --user` cleans up as its user, with
// its own ledger, its own manager and its own journal.
func TestUserManager(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		m.Shell("useradd -m worker; systemctl start user@$(id -u worker).service")
		uid := m.Shell("id -u worker")
		// As the user: the helper is a unit of the user's manager.
		m.Write("/usr/local/bin/user-job", 0o755, `#!/bin/sh
systemd-run -q --user --unit=mine-helper sleep infinity
exec /usr/local/bin/job mine exit-3
`)
		m.Write("/home/worker/.config/systemd/user/mine.service", 0o644, "[Service]\nType=oneshot\n"+
			"ExecStartPre=-/usr/bin/job-cleanup arm\nExecStart=/usr/local/bin/user-job\n"+hook+steps+helperStep)
		m.Shell("chown -R worker: /home/worker/.config")
		user := func(args ...string) rig.Result {
			return m.Run(append([]string{"runuser", "-u", "worker", "--", "env", "HOME=/home/worker", "XDG_RUNTIME_DIR=/run/user/" + uid,
				"DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/" + uid + "/bus", "systemctl", "--user"}, args...)...)
		}
		user("daemon-reload")
		user("start", "mine.service")
		m.WaitFor("mine.service is over", soon, func() bool {
			return user("show", "-p", "ActiveState", "--value", "mine.service").Stdout == "failed\n"
		})
		wantClean(t, m, "mine")
		if got := user("show", "-p", "ActiveState", "--value", "mine-helper.service").Stdout; got == "active\n" {
			t.Error("the helper runs")
		}
		if got := user("show", "-p", "Result,ExecMainStatus", "--value", "mine.service").Stdout; got != "exit-code\n3\n" && got != "3\nexit-code\n" {
			t.Errorf("the unit ended %q", got)
		}
		wantFields(t, wantSummary(t, m, "mine.service", bad3), rig.Entry{"_UID": uid})
		wantRecord(t, m, "mine.service", journal.Removed, "path", "/var/tmp/mine-tree")
		wantRecord(t, m, "mine.service", journal.Removed, "unit", "mine-helper.service")
		if m.Exists("/var/lib/job-cleanup/root/mine.service") {
			t.Error("a user's job is in root's ledger")
		}
		if left := m.Run("find", "/home/worker/.local/state", "-name", "*.jsonl").Stdout; left != "" {
			t.Errorf("owed: %s", left)
		}
	})
}
