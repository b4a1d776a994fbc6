package system_test

import (
	"strings"
	"testing"

	"job-cleanup/pkg/journal"
	"job-cleanup/pkg/outcome"
	"job-cleanup/test/rig"
)

// good is the outcome of a job that ended well.
var good = outcome.Outcome{Result: "success", Code: "exited", Status: "0"}

// bad3 is the outcome of a job that exited with 3.
var bad3 = outcome.Outcome{Result: "exit-code", Code: "exited", Status: "3"}

// wantVerdict fails unless the unit ended as its job did.
func wantVerdict(t *testing.T, m *rig.Machine, unit, result, status string) {
	t.Helper()
	if end := m.Show(unit, "Result", "ExecMainStatus"); end["Result"] != result || end["ExecMainStatus"] != status {
		t.Errorf("%s ended %v, want %s and %s", unit, end, result, status)
	}
}

// TestUser: the hook has no more rights than the job, the tracked residue
// comes from the job itself.
func TestUser(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		m.Shell("useradd worker")
		m.Write("/usr/local/bin/tracked", 0o755, `#!/bin/sh -e
mkdir -p /var/tmp/extra-tree/sub && chmod 0555 /var/tmp/extra-tree/sub
job-cleanup track path /var/tmp/extra-tree
exec /usr/local/bin/job plain exit-3
`)
		install(m, "plain.service", oneshot("User=worker\nExecStart=/usr/local/bin/tracked", steps))
		runUnit(m, "plain.service")
		wantClean(t, m, "plain")
		wantVerdict(t, m, "plain.service", "exit-code", "3")
		wantSummary(t, m, "plain.service", bad3)
		wantFields(t, wantRecord(t, m, "plain.service", journal.Removed, "path", "/var/tmp/plain-tree"),
			rig.Entry{"_UID": m.Shell("id -u worker")})
		wantRecord(t, m, "plain.service", journal.Removed, "path", "/var/tmp/extra-tree")
		if m.Exists("/var/tmp/extra-tree") {
			t.Error("the tracked tree is there")
		}
	})
}

// TestUserSettled: the hook of a plain user can't write into root's ledger.
// What it did is settled later without harm: a sweep finds nothing left to do,
// and runs no command with rights that the job never had.
func TestUserSettled(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		m.Shell("useradd worker")
		install(m, "plain.service", oneshot("User=worker\nExecStart=/usr/local/bin/job plain exit-3",
			steps+"\n[X-Cleanup.Command]\nRun=/bin/sh -c 'id -u >>/srv/told/ids'\n"))
		runUnit(m, "plain.service")
		wantClean(t, m, "plain")
		if swept := m.Run("job-cleanup", "sweep"); swept.Code != 0 || swept.Stderr != "" {
			t.Errorf("sweep: %v", swept)
		}
		for _, uid := range strings.Fields(m.Shell("cat /srv/told/ids")) {
			if uid != m.Shell("id -u worker") {
				t.Errorf("the job's command ran as %s", uid)
			}
		}
		wantNothingOwed(t, m, "plain.service")
	})
}

// TestDynamicUser: the unit's own folders are bases, though the one below
// /var/lib is a link.
func TestDynamicUser(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		install(m, "dyn.service", "[Service]\nType=oneshot\n"+arm+`DynamicUser=yes
StateDirectory=%N
RuntimeDirectory=%N
ReadWritePaths=-/var/lib/job-cleanup -/run/job-cleanup
ExecStart=/bin/sh -ec 'mkdir -p %S/%N/work/sub %t/%N/work; touch %S/%N/work/file %S/%N/kept; exit 3'
`+hook+`
[X-Cleanup.Path]
Remove=%S/%N/work
Remove=%t/%N/work
`)
		runUnit(m, "dyn.service")
		if m.Exists("/var/lib/private/dyn/work") || !m.Exists("/var/lib/private/dyn/kept") {
			t.Errorf("in the state folder: %q", m.Shell("ls -R /var/lib/private/dyn"))
		}
		wantVerdict(t, m, "dyn.service", "exit-code", "3")
		wantSummary(t, m, "dyn.service", bad3)
		wantRecord(t, m, "dyn.service", journal.Removed, "path", "/var/lib/dyn/work")
		wantRecord(t, m, "dyn.service", journal.Removed, "path", "/run/dyn/work")
	})
}

// TestStrict: a read-only system, with room for the ledger or without.
func TestStrict(t *testing.T) {
	const service = "ProtectSystem=strict\nReadWritePaths=/var/tmp /srv/told "
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		install(m, "room.service", oneshot(service+"-/var/lib/job-cleanup -/run/job-cleanup\nExecStart=/usr/local/bin/job room exit-3", steps+helperStep))
		install(m, "none.service", oneshot(service+"\nExecStart=/usr/local/bin/job none exit-3", steps+helperStep))
		for _, name := range []string{"room", "none"} {
			runUnit(m, name+".service")
			wantClean(t, m, name)
			wantVerdict(t, m, name+".service", "exit-code", "3")
			wantSummary(t, m, name+".service", bad3)
		}
		wantNothingOwed(t, m, "room.service")
		if n := len(records(m, "room.service", journal.Unrecorded)); n != 0 {
			t.Errorf("with room: %d times unrecorded", n)
		}
		if found := records(m, "none.service", journal.Unrecorded); len(found) == 0 {
			t.Errorf("without room: nothing says so: %v", said(m, "none.service"))
		} else {
			wantFields(t, found[0], rig.Entry{"PRIORITY": journal.Warning.String()})
		}
	})
}

// private leaves a tree in a unit's private /tmp, and tells after the hook
// whether it is gone.
const private = `[Service]
Type=oneshot
PrivateTmp=yes
ExecStart=/bin/sh -ec 'mkdir -p /tmp/%N-tree/sub; exit 3'
HOOK
ExecStopPost=-/bin/sh -c 'test -e /tmp/%N-tree || touch /srv/told/%N.gone'

[X-Cleanup.Path]
Remove=/tmp/%N-tree
`

// TestPrivateTmp: the hook stands in the job's sandbox, so the tree is the
// job's; the host's of the same name is somebody else's.
func TestPrivateTmp(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		m.Shell("mkdir /tmp/priv-tree")
		install(m, "priv.service", strings.Replace(private, "HOOK\n", arm+hook, 1))
		runUnit(m, "priv.service")
		if !m.Exists("/srv/told/priv.gone") {
			t.Errorf("the private tree was there: %v", said(m, "priv.service"))
		}
		if !m.Exists("/tmp/priv-tree") {
			t.Error("the host's tree is gone")
		}
		wantVerdict(t, m, "priv.service", "exit-code", "3")
		wantSummary(t, m, "priv.service", bad3)
		wantRecord(t, m, "priv.service", journal.Removed, "path", "/tmp/priv-tree")
	})
}

// TestCase45_privateTmpOutside: with + the hook sees the host's /tmp, where the
// same path belongs to somebody: it stays.
func TestCase45_privateTmpOutside(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		m.Shell("mkdir /tmp/plus-tree && echo theirs >/tmp/plus-tree/file")
		install(m, "plus.service", strings.Replace(private, "HOOK\n", arm+"ExecStopPost=-+/usr/bin/job-cleanup run\n", 1))
		runUnit(m, "plus.service")
		if got := m.Shell("cat /tmp/plus-tree/file"); got != "theirs" {
			t.Errorf("the host's file says %q", got)
		}
		wantVerdict(t, m, "plus.service", "exit-code", "3")
		wantSummary(t, m, "plus.service", bad3)
		if removed := records(m, "plus.service", journal.Removed); len(removed) != 0 {
			t.Errorf("it says it removed %v", removed)
		}
	})
}

// TestPrivateNetwork: local residue needs no network, and the bus is a file.
func TestPrivateNetwork(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		install(m, "alone.service", oneshot("PrivateNetwork=yes\nExecStart=/usr/local/bin/job alone exit-3", steps+helperStep))
		runUnit(m, "alone.service")
		wantClean(t, m, "alone")
		wantVerdict(t, m, "alone.service", "exit-code", "3")
		wantSummary(t, m, "alone.service", bad3)
		wantNothingOwed(t, m, "alone.service")
	})
}
