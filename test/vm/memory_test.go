//go:build linux

package vm

import (
	"strings"
	"testing"
)

// limited is what both units have: hook and job share one control group.
const limited = `[Service]
Type=oneshot
MemoryMax=64M
MemorySwapMax=0
TimeoutStopSec=10min
ExecStartPre=-+/usr/bin/job-cleanup arm
ExecStopPost=-/usr/bin/job-cleanup run
`

// verdict tells how a unit ended, and how its hook did: the exit kind of
// waitid(2), 1 exited, 2 killed.
const verdict = `systemctl show -P Result hog.service
	systemctl show -P ExecStopPost hog.service | grep -o 'code=[a-z]* ; status=[0-9]*'`

// TestHookInsideTheMemoryLimit: the job is killed for its memory, and the hook
// removes 100,000 files in the 64 MiB that killed it. The files are made outside
// of the limit, where that is quick.
func TestHookInsideTheMemoryLimit(t *testing.T) {
	m := machineFor(t)
	m.openGate()
	m.shell(`mkdir /var/tmp/hog
		cd /var/tmp/hog
		for d in $(seq 100); do
			mkdir $d
			seq -f $d/%g 1000 | xargs touch
		done
		sync
		echo 3 >/proc/sys/vm/drop_caches`) // the hook has to read it all again, inside the limit
	m.write("/etc/systemd/system/hog.service", "644", limited+`ExecStart=/usr/bin/tail /dev/zero

[X-Cleanup]
TimeoutSec=9min

[X-Cleanup.Path]
Remove=/var/tmp/hog
`)
	m.shell("systemctl daemon-reload; systemctl start hog.service || true")
	m.shell("until [ $(systemctl show -P ActiveState hog.service) = failed ]; do sleep 1; done")
	if got := m.shell(verdict); got != "oom-kill\ncode=exited ; status=0" {
		t.Errorf("job and hook ended as\n%s", got)
	}
	if m.run("test -e /var/tmp/hog").Code == 0 {
		t.Error("the tree is there")
	}
	if owed := m.shell("job-cleanup status --json; find /var/lib/job-cleanup -mindepth 2"); owed != "" {
		t.Errorf("owed: %s", owed)
	}
	said := m.shell("journalctl -q --no-pager -o cat JOB_CLEANUP_UNIT=hog.service JOB_CLEANUP_EVENT=summary; journalctl -q --no-pager -o cat -u hog.service")
	if !strings.Contains(said, "(oom-kill): 1 removed") {
		t.Error("no such summary")
	}
	t.Log(said)
}

// TestCase47_memoryFilledByResidue: what the job left on a tmpfs is charged to
// its unit and fills the limit, so that the hook is killed as it starts. It was
// armed, so the sweep ends it. In a container, test/system kills the hook by
// hand; here the kernel does.
func TestCase47_memoryFilledByResidue(t *testing.T) {
	m := machineFor(t)
	m.openGate()
	m.write("/etc/systemd/system/hog.service", "644", limited+`ExecStart=/bin/sh -c 'mkdir /tmp/hog; exec dd if=/dev/zero of=/tmp/hog/residue bs=1M count=300'

[X-Cleanup.Path]
Remove=/tmp/hog
`)
	m.shell("systemctl daemon-reload; systemctl start hog.service || true")
	m.shell("until [ $(systemctl show -P ActiveState hog.service) = failed ]; do sleep 1; done")
	if got := m.shell(verdict); got != "oom-kill\ncode=killed ; status=9" {
		t.Errorf("job and hook ended as\n%s", got)
	}
	if m.run("test -s /tmp/hog/residue").Code != 0 {
		t.Error("the hook was killed, and the residue is gone")
	}
	if owed := m.shell("job-cleanup status --json"); !strings.Contains(owed, "/tmp/hog") {
		t.Errorf("owed is %q", owed)
	}
	m.shell("systemctl start job-cleanup-sweep.service")
	if m.run("test -e /tmp/hog").Code == 0 {
		t.Error("the residue is there after the sweep")
	}
	if owed := m.shell("job-cleanup status --json; find /var/lib/job-cleanup -mindepth 2"); owed != "" {
		t.Errorf("owed after the sweep: %s", owed)
	}
	if result := m.shell("systemctl show -P Result hog.service"); result != "oom-kill" {
		t.Errorf("the unit's result became %s", result)
	}
	t.Log(m.shell("journalctl -q --no-pager -o cat JOB_CLEANUP_UNIT=hog.service; journalctl -q --no-pager -o cat -u hog.service"))
}
