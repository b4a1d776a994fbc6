package system_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"job-cleanup/pkg/journal"
	"job-cleanup/test/rig"
)

// sweepUnits are the shipped units of the sweep.
var sweepUnits = []string{"job-cleanup-sweep.service", "job-cleanup-sweep.timer", "job-cleanup-sweep-boot.service"}

// installSweep installs them, and those for user managers.
func installSweep(t *testing.T, m *rig.Machine) {
	t.Helper()
	place := map[string]string{"user/job-cleanup-sweep.service": "/etc/systemd/user/", "user/job-cleanup-sweep.timer": "/etc/systemd/user/"}
	for _, name := range sweepUnits {
		place[name] = "/etc/systemd/system/"
	}
	for name, folder := range place {
		text, err := os.ReadFile(filepath.Join("../../units", name))
		if err != nil {
			t.Fatal(err)
		}
		m.Write(folder+filepath.Base(name), 0o644, string(text))
	}
	m.Shell("systemctl daemon-reload")
}

// sweep runs the shipped service and waits for its end.
func sweep(t *testing.T, m *rig.Machine, unit string) {
	t.Helper()
	if r := m.Start(unit); r.Code != 0 {
		t.Errorf("%s: %v\n%s", unit, r, m.Run("journalctl", "-u", unit, "--no-pager").Stdout)
	}
}

func TestSweepUnitsVerify(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		installSweep(t, m)
		if r := m.Run(append([]string{"systemd-analyze", "verify", "--man=no"}, sweepUnits...)...); r.Code != 0 || r.Stderr != "" {
			t.Errorf("%v", r)
		}
		r := m.Run("env", "XDG_RUNTIME_DIR=/run", "systemd-analyze", "--user", "verify", "--man=no", "/etc/systemd/user/job-cleanup-sweep.service", "/etc/systemd/user/job-cleanup-sweep.timer")
		if r.Code != 0 || r.Stderr != "" {
			t.Errorf("user: %v", r)
		}
	})
}

// TestTimerEndsWhatAHookCouldNot: the hook is killed in the midst of its work;
// the timer comes back to it.
func TestTimerEndsWhatAHookCouldNot(t *testing.T) {
	const cutOff = `
[X-Cleanup.Command]
Run=/bin/sh -c 'if ! test -e /srv/told/%N.hooked; then touch /srv/told/%N.hooked; sleep infinity; fi'
`
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		installSweep(t, m)
		m.Write("/etc/systemd/system/job-cleanup-sweep.timer.d/soon.conf", 0o644, "[Timer]\nOnActiveSec=1s\nRandomizedDelaySec=0\nAccuracySec=1us\n")
		install(m, "cut.service", oneshot("ExecStart=/usr/local/bin/job cut exit-3", steps+helperStep+cutOff))
		m.Shell("systemctl start --no-block cut.service")
		m.WaitFor("the hook is at work", soon, func() bool { return m.Exists("/srv/told/cut.hooked") })
		m.Shell("systemctl kill -s KILL cut.service")
		settle(m, "cut.service")
		if r := m.Run("job-cleanup", "status", "cut"); !strings.Contains(r.Stdout, "cut.service") {
			t.Errorf("nothing is owed: %v", r)
		}
		m.Shell("systemctl start job-cleanup-sweep.timer")
		m.WaitFor("the timer's sweep is over", soon, func() bool {
			return m.Run("find", "/var/lib/job-cleanup", "-name", "*.jsonl").Stdout == ""
		})
		wantClean(t, m, "cut")
		settle(m, "job-cleanup-sweep.service")
		if result := m.Show("job-cleanup-sweep.service", "Result")["Result"]; result != "success" {
			t.Errorf("the sweep ended %q", result)
		}
		if len(records(m, "cut.service", journal.Removed)) == 0 {
			t.Error("the journal of the unit does not tell")
		}
	})
}

// TestSweepLeavesTheNextRun: a sweep while the unit's next invocation runs on
// the same paths takes nothing from it, and that invocation finds a clean place.
func TestSweepLeavesTheNextRun(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		installSweep(t, m)
		const job = "ExecStart=/bin/sh -c 'exec /usr/local/bin/job %N $$(cat /srv/told/%N.next)'\n"
		for name, wiring := range map[string]string{
			"armed": "[Service]\nType=oneshot\n" + arm + job + "ExecStopPost=-/bin/sh -c 'test ! -e /srv/told/%N.hook || exec job-cleanup run'\n",
			"never": "[Service]\nType=oneshot\n" + job + "ExecStopPost=-/bin/sh -c 'test ! -e /srv/told/%N.hook || exec job-cleanup run'\n",
		} {
			unit := name + ".service"
			install(m, unit, wiring+steps+helperStep)
			m.Shell("echo exit-3 >/srv/told/" + name + ".next")
			runUnit(m, unit)
			if len(residueOf(m, name)) == 0 {
				t.Fatalf("%s: the first run left nothing", name)
			}
			if name == "never" { // as its hook would have written it, had it not been cut off
				m.Shell("rm -r /var/tmp/never-tree; : >/var/tmp/never.lock")
			}
			m.Shell("echo wait >/srv/told/" + name + ".next; touch /srv/told/" + name + ".hook; rm -f /srv/told/" + name + ".dirty; systemctl start --no-block " + unit)
			m.WaitFor(name+" runs again", soon, func() bool { return m.Exists("/srv/told/" + name + ".waits") })
			if name == "armed" && m.Exists("/srv/told/armed.dirty") {
				t.Errorf("the next run found %s", m.Shell("cat /srv/told/armed.dirty"))
			}
			before := m.Shell("find /var/tmp/" + name + "* /srv/told/" + name + ".registered")
			sweep(t, m, "job-cleanup-sweep.service")
			m.Shell("job-cleanup sweep --all; job-cleanup sweep --boot")
			if after := m.Shell("find /var/tmp/" + name + "* /srv/told/" + name + ".registered"); after != before {
				t.Errorf("%s: of\n%s\nis left\n%s\n%v", name, before, after, said(m, unit))
			}
			m.Shell("systemctl stop " + unit)
			settle(m, unit)
			wantClean(t, m, name)
			sweep(t, m, "job-cleanup-sweep.service")
			wantNothingOwed(t, m, unit)
		}
	})
}

// TestSweepOfTracked: what jobs with users of their own tracked goes with
// their rights, and then their folder; a dynamic user's waits for the next run.
func TestSweepOfTracked(t *testing.T) {
	const job = "ExecStart=/bin/sh -ec 'mkdir -p $$DIR/%N-tree/sub; job-cleanup track path $$DIR/%N-tree; exit 3'\n"
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		installSweep(t, m)
		m.Shell("useradd worker")
		for name, user := range map[string]string{
			"worker":  "User=worker\nEnvironment=DIR=/var/tmp\n",
			"dynamic": "DynamicUser=yes\nStateDirectory=%N\nEnvironment=DIR=/var/lib/%N\nReadWritePaths=-/var/lib/job-cleanup\n",
		} {
			unit := name + ".service"
			install(m, unit, "[Service]\nType=oneshot\n"+user+arm+job)
			runUnit(m, unit)
		}
		if !m.Exists("/var/tmp/worker-tree/sub") || !m.Exists("/var/lib/dynamic/dynamic-tree/sub") {
			t.Fatal("the jobs left nothing")
		}
		sweep(t, m, "job-cleanup-sweep.service")
		if m.Exists("/var/tmp/worker-tree") || m.Exists("/var/lib/job-cleanup/job/worker.service") {
			t.Errorf("of worker is left: %s; %v", m.Run("find", "/var/tmp", "/var/lib/job-cleanup").Stdout, said(m, "worker.service"))
		}
		if len(records(m, "worker.service", journal.Removed)) != 1 {
			t.Errorf("told: %v", said(m, "worker.service"))
		}
		if !m.Exists("/var/lib/dynamic/dynamic-tree") {
			t.Error("a dynamic user's residue was taken with a number that may be anybody's")
		}
		install(m, "dynamic.service", "[Service]\nType=oneshot\nDynamicUser=yes\nStateDirectory=%N\nReadWritePaths=-/var/lib/job-cleanup\n"+arm+
			"ExecStart=/bin/sh -c 'test -e /var/lib/%N/%N-tree && touch /var/lib/%N/dirty || true'\n"+hook)
		runUnit(m, "dynamic.service")
		if m.Exists("/var/lib/dynamic/dirty") || m.Exists("/var/lib/dynamic/dynamic-tree") {
			t.Errorf("the next run found it: %v", m.Shell("journalctl -u dynamic.service -o cat"))
		}
		sweep(t, m, "job-cleanup-sweep.service")
		wantNothingOwed(t, m, "dynamic.service")
		if m.Exists("/var/lib/job-cleanup/job/dynamic.service") {
			t.Errorf("an empty folder stays")
		}
	})
}

// TestSweepAtBoot: what is of another boot goes, as far as it is on this
// machine, however often it was tried.
func TestSweepAtBoot(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		installSweep(t, m)
		install(m, "gone.service", "[Service]\nType=oneshot\n"+arm+"ExecStart=/usr/local/bin/job gone exit-3\n"+steps+helperStep)
		runUnit(m, "gone.service")
		m.Shell("cd /var/lib/job-cleanup/root/gone.service; sed -i 's/\"boot\":\"[0-9a-f-]*\"/\"boot\":\"00000000000000000000000000000001\"/' *.jsonl; grep -q 0000001 *.jsonl")
		sweep(t, m, "job-cleanup-sweep-boot.service")
		if left := residueOf(m, "gone"); len(left) != 1 || left[0] != "/srv/told/gone.registered" {
			t.Errorf("left is %q, want what a command does: %v", left, said(m, "gone.service"))
		}
		sweep(t, m, "job-cleanup-sweep.service")
		wantClean(t, m, "gone")
		wantNothingOwed(t, m, "gone.service")
	})
}

// TestCase05_trackAndDie: what a job tracked before it was killed is removed
// by a sweep of the same user, who has no environment.
func TestCase05_trackAndDie(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		m.Shell("useradd -m worker")
		install(m, "dies.service", "[Service]\nType=oneshot\nUser=worker\nExecStart=/bin/sh -ec 'mkdir /var/tmp/dies-tree; job-cleanup track path /var/tmp/dies-tree; kill -KILL $$$$'\n")
		runUnit(m, "dies.service")
		const asWorker = "setpriv --reuid=worker --regid=worker --clear-groups env -i /usr/bin/job-cleanup "
		if out := m.Shell(asWorker + "status"); !strings.Contains(out, "/var/tmp/dies-tree") {
			t.Errorf("status says %q", out)
		}
		out := m.Shell(asWorker + "sweep")
		if m.Exists("/var/tmp/dies-tree") || strings.Count(out, "removed path") != 1 {
			t.Errorf("%s", out)
		}
		if again := m.Shell(asWorker + "sweep"); again != "" {
			t.Errorf("the second sweep says %q", again)
		}
	})
}

// TestCase21_silentJob: a job that lives is not swept, however long it is
// silent, nor is another user's job that goes on beside one that ended.
func TestCase21_silentJob(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		m.Shell("useradd worker")
		const unit = "[Service]\nType=oneshot\nUser=worker\n" + arm
		install(m, "silent.service", unit+"ExecStart=/bin/sh -ec 'mkdir /var/tmp/%N-tree /var/tmp/%N-own; job-cleanup track path /var/tmp/%N-own; touch /srv/told/%N.waits; exec sleep infinity'\n"+treeStep)
		install(m, "ended.service", unit+"ExecStart=/bin/sh -ec 'mkdir /var/tmp/%N-tree /var/tmp/%N-own; job-cleanup track path /var/tmp/%N-own; exit 3'\n"+treeStep)
		m.Shell("systemctl start --no-block silent.service")
		m.WaitFor("the job runs", soon, func() bool { return m.Exists("/srv/told/silent.waits") })
		runUnit(m, "ended.service")
		m.Shell("find /var/lib/job-cleanup -name '*.jsonl' -exec touch -d '1 year ago' {} +; job-cleanup sweep --all")
		if left := m.Shell("cd /var/tmp; ls -d *-tree *-own | tr '\\n' ' '"); left != "silent-own silent-tree " {
			t.Errorf("left is %q; %v %v", left, said(m, "silent.service"), said(m, "ended.service"))
		}
	})
}
