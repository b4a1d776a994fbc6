package system_test

import (
	"strings"
	"testing"
	"time"

	"job-cleanup/test/rig"
)

const (
	arm  = "ExecStartPre=-+/usr/bin/job-cleanup arm\n"
	hook = "ExecStopPost=-/usr/bin/job-cleanup run\n"

	// soon bounds waits for what takes a moment on an idle machine.
	soon = 30 * time.Second
)

// jobScript leaves residue under its first argument's name and then ends as
// its second says. It tells /srv/told/NAME.dirty when it does not find a clean
// place.
const jobScript = `#!/bin/sh
name=$1 ending=$2
echo "$INVOCATION_ID" >"/srv/told/$name.invocation"
for old in "/var/tmp/$name-tree" "/var/tmp/$name.lock"; do
	test -e "$old" && echo "$old" >>"/srv/told/$name.dirty"
done
mkdir -p "/var/tmp/$name-tree/deep/er" && echo text >"/var/tmp/$name-tree/deep/er/file"
ln -s /srv "/var/tmp/$name-tree/link"
exec 9>"/var/tmp/$name.lock" && flock -n 9
test "$(id -u)" != 0 || systemd-run -q --unit="$name-helper" sleep infinity
touch "/srv/told/$name.registered"
case $ending in
exit-*) exit "${ending#exit-}" ;;
wait) touch "/srv/told/$name.waits" && exec sleep infinity ;;
esac
`

// steps clean up after jobScript.
const steps = `
[X-Cleanup.Path]
Remove=/var/tmp/%N-tree

[X-Cleanup.Lockfile]
Remove=/var/tmp/%N.lock
Holder=flock

[X-Cleanup.Command]
Run=/bin/rm -f /srv/told/%N.registered
`

// helperStep stops the transient unit of a job that root runs.
const helperStep = `
[X-Cleanup.Unit]
Stop=%N-helper.service
`

// oneshot is a unit with the usual wiring.
func oneshot(service, sections string) string {
	return "[Service]\nType=oneshot\n" + arm + service + "\n" + hook + sections
}

// install writes a unit and has systemd read it.
func install(m *rig.Machine, name, text string) {
	m.Write("/etc/systemd/system/"+name, 0o644, text)
	m.Shell("systemctl daemon-reload")
}

// runUnit starts a unit and waits until it is over, its hook included.
func runUnit(m *rig.Machine, unit string) {
	m.Start(unit)
	settle(m, unit)
}

// settle waits until a unit is over. systemctl start returns before the hook
// has run when the job fails.
func settle(m *rig.Machine, unit string) {
	m.WaitFor(unit+" is over", soon, func() bool {
		state := m.Show(unit, "ActiveState", "Job")
		over := state["ActiveState"] == "inactive" || state["ActiveState"] == "failed"
		return over && (state["Job"] == "" || state["Job"] == "0")
	})
}

// residueOf lists what jobScript left under a name and is still there.
func residueOf(m *rig.Machine, name string) []string {
	var left []string
	for _, path := range []string{"/var/tmp/" + name + "-tree", "/var/tmp/" + name + ".lock", "/srv/told/" + name + ".registered"} {
		if m.Exists(path) {
			left = append(left, path)
		}
	}
	if m.Show(name+"-helper.service", "ActiveState")["ActiveState"] == "active" {
		left = append(left, name+"-helper.service")
	}
	return left
}

// wantClean fails unless a job's residue is gone, and nothing else is: the
// link in its tree points to /srv.
func wantClean(t *testing.T, m *rig.Machine, name string) {
	t.Helper()
	if left := residueOf(m, name); left != nil {
		t.Errorf("%s left %q", name, left)
	}
	if !m.Exists("/srv/told") {
		t.Error("a link was followed out of the tree")
	}
}

// wantNothingOwed fails if a ledger of the unit is left.
func wantNothingOwed(t *testing.T, m *rig.Machine, unit string) {
	t.Helper()
	if found := m.Run("find", "/var/lib/job-cleanup", "-path", "*"+strings.ReplaceAll(unit, `\`, `\\`)+"*", "-name", "*.jsonl").Stdout; found != "" {
		t.Errorf("owed by %s: %s", unit, found)
	}
}
