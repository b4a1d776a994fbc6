//go:build linux

// Command demo shows the main job for real: in a container with its own
// systemd, a oneshot fails midway, and one sees what it left before its hook
// ran, what is there afterwards, and what the journal says. Then another one is
// killed that holds something of six servers. The machine that runs it stays as
// it was, but for the cached root of the container and the cached servers.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"job-cleanup/test/rig"
)

const unit = `[Service]
Type=oneshot
ExecStartPre=-+/usr/bin/job-cleanup arm
ExecStart=/usr/local/bin/run-batch-job.sh
ExecStopPost=-/usr/bin/job-cleanup run

[X-Cleanup.Path]
Remove=/var/tmp/%N-work

[X-Cleanup.Lockfile]
Remove=/var/tmp/%N.lock
Holder=flock

[X-Cleanup.Unit]
Stop=%N-helper.service

[X-Cleanup.Command]
Run=/bin/rm -f /srv/registered-%N
`

// job stops midway, until it is told to fail.
const job = `#!/bin/sh -e
mkdir -p /var/tmp/batch-work/part1 && echo half >/var/tmp/batch-work/part1/result
exec 9>/var/tmp/batch.lock && flock -n 9
systemd-run -q --unit=batch-helper sleep infinity
touch /srv/registered-batch
while ! test -e /run/fail-now; do sleep 0.1; done
exit 3
`

// residue are the things that job leaves, each with the command that is
// silent when it is gone.
var residue = []struct{ what, show string }{
	{"temp tree", "find /var/tmp/batch-work -type f 2>/dev/null || true"},
	{"lock file", "ls /var/tmp/batch.lock 2>/dev/null || true"},
	{"helper unit", "systemctl list-units --plain --no-legend --state=active batch-helper.service"},
	{"registration", "ls /srv/registered-batch 2>/dev/null || true"},
}

func main() {
	for _, act := range []func(rig.T){show, showServers} {
		if err := rig.Perform(act); err != nil {
			fmt.Fprintln(os.Stderr, "demo:", err)
			os.Exit(1)
		}
	}
}

// show is the demo itself.
func show(s rig.T) {
	binary := filepath.Join(s.TempDir(), "job-cleanup")
	if err := rig.Build(rig.Program, binary); err != nil {
		s.Fatal(err)
	}
	headline("A machine boots (the first time its root is made, which takes about a minute)")
	m := rig.Boot(s, rig.Suites[0], rig.Bind(binary, "/usr/bin/job-cleanup"))
	fmt.Println(strings.SplitN(m.Shell("systemctl --version"), "\n", 2)[0])

	headline("The unit batch.service")
	fmt.Print(unit)
	m.Write("/usr/local/bin/run-batch-job.sh", 0o755, job)
	m.Write("/etc/systemd/system/batch.service", 0o644, unit)
	m.Shell("systemctl daemon-reload && systemctl start --no-block batch.service")
	m.WaitFor("the job is midway", time.Minute, func() bool { return m.Exists("/srv/registered-batch") })

	headline("Midway through the job: its residue")
	list(m)
	headline("The job fails with status 3; systemd runs the hook")
	m.Shell("touch /run/fail-now")
	m.WaitFor("the unit is over", time.Minute, func() bool {
		return m.Show("batch.service", "ActiveState")["ActiveState"] == "failed"
	})
	left := list(m)
	headline("The unit's verdict is the job's own")
	fmt.Println(m.Shell("systemctl show -p Result,ExecMainStatus batch.service"))
	headline("What the journal says")
	tell(m, "batch.service")
	if left > 0 {
		s.Fatalf("%d things were left", left)
	}
}

func headline(text string) { fmt.Printf("\n== %s\n", text) }

// list prints what there is of the residue, and counts it.
func list(m *rig.Machine) int {
	left := 0
	for _, one := range residue {
		found := m.Shell(one.show)
		if found == "" {
			found = "gone"
		} else {
			left++
		}
		fmt.Printf("  %-13s %s\n", one.what, found)
	}
	return left
}

// tell prints our records of a unit.
func tell(m *rig.Machine, unit string) {
	for _, entry := range m.Journal("JOB_CLEANUP_UNIT=" + unit) {
		fmt.Printf("  %s\n    EVENT=%s", entry["MESSAGE"], entry["JOB_CLEANUP_EVENT"])
		for _, name := range []string{"JOB_CLEANUP_KIND", "JOB_CLEANUP_REF", "SERVICE_RESULT", "EXIT_CODE", "EXIT_STATUS"} {
			if value := entry[name]; value != "" {
				fmt.Printf(" %s=%s", strings.TrimPrefix(name, "JOB_CLEANUP_"), value)
			}
		}
		fmt.Println()
	}
}
