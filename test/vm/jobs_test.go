//go:build linux

package vm

import (
	"encoding/json"
	"strings"
	"testing"
)

// Two jobs run at once: one of root's with a plan, on two file systems, and one
// of a plain user that tracks what it makes. Some of it is flushed to the disk
// at once, some is lost with the power.
const (
	batchUnit = `[Service]
Type=oneshot
ExecStartPre=-+/usr/bin/job-cleanup arm
ExecStart=/usr/local/bin/batch %i
ExecStopPost=-/usr/bin/job-cleanup run
TimeoutStopSec=10min

[X-Cleanup]
TimeoutSec=5min

[X-Cleanup.Unit]
Stop=batch-%i-helper.service

[X-Cleanup.Path]
Remove=/var/tmp/batch-%i

[X-Cleanup.Path]
Remove=/srv/data/batch-%i*
Within=/srv/data

[X-Cleanup.Path]
Remove=/var/tmp/batch-%i-later
Defer=yes

[X-Cleanup.Lockfile]
Remove=/var/tmp/batch-%i.lock
Holder=flock

[X-Cleanup.Command]
Run=/usr/local/bin/undo %i
`
	userUnit = `[Service]
Type=oneshot
User=worker
ExecStartPre=-+/usr/bin/job-cleanup arm
ExecStart=/usr/local/bin/user-job
ExecStopPost=-/usr/bin/job-cleanup run
TimeoutStopSec=10min

[X-Cleanup]
TimeoutSec=5min
`
	leave = `#!/bin/sh
# A tree of 300 files with links out of it.
set -e
mkdir -p "$1"
ln -s /var/tmp/bystander "$1/link"
for d in 1 2 3 4 5 6; do
	mkdir "$1/$d"
	for f in 1 2 3 4 5 6 7 8 9 0; do
		for g in 1 2 3 4 5; do echo text >"$1/$d/$f$g"; done
	done
done
[ ! -e "/run/flush-$2" ] || sync
`
	batchJob = `#!/bin/sh
set -e
: >"/var/tmp/batch-$1.lock"
: >"/var/lib/marks/$1"
systemd-run -q --unit="batch-$1-helper" sleep infinity
/usr/local/bin/leave "/var/tmp/batch-$1" 1
/usr/local/bin/leave "/srv/data/batch-$1" 2
for n in 1 2 3 4 5 6 7 8 9; do : >"/srv/data/batch-$1.$n"; done
/usr/local/bin/leave "/var/tmp/batch-$1-later" 3
: >/run/batch-ended
exit 3
`
	userJob = `#!/bin/sh
set -e
job-cleanup track path /var/tmp/user-tree
/usr/local/bin/leave /var/tmp/user-tree 1
job-cleanup track path /srv/data/user/tree --within /srv/data
/usr/local/bin/leave /srv/data/user/tree 2
exit 3
`
)

// jobs are the units that run.
const jobs = "batch@a.service user.service"

// kept is what belongs to others: names that begin like the jobs' own.
const kept = "/var/tmp/bystander /var/tmp/batch-ab /srv/data/batch.keep /srv/data/user/other /var/lib/marks/ab"

// installJobs puts the jobs into the machine, and what they may not touch.
func installJobs(m *machine) {
	m.write("/etc/systemd/system/batch@.service", "644", batchUnit)
	m.write("/etc/systemd/system/user.service", "644", userUnit)
	m.write("/usr/local/bin/leave", "755", leave)
	m.write("/usr/local/bin/batch", "755", batchJob)
	m.write("/usr/local/bin/user-job", "755", userJob)
	m.write("/usr/local/bin/undo", "755", "#!/bin/sh\nexec rm -f \"/var/lib/marks/$1\"\n")
	m.shell(`useradd -r worker
		mkdir -p /var/lib/marks
		install -d -o worker /srv/data/user
		for at in ` + kept + `; do mkdir -p $at/below; echo precious >$at/below/file; done
		systemctl daemon-reload
		sync`)
}

// debt is a line of status --json.
type debt struct{ Unit, Kind, Ref, Reason, Message string }

// view is what stands in the machine at one moment.
type view struct {
	there []string // paths of the jobs' own
	owed  []debt
}

// look takes stock. What was renamed aside is still the tree that it was.
func look(m *machine) view {
	m.t.Helper()
	v := view{there: strings.Fields(m.shell(`cd /; for at in /var/tmp/batch-a /srv/data/batch-a /srv/data/batch-a.[0-9] /var/tmp/batch-a-later /var/tmp/batch-a.lock \
		/var/tmp/user-tree /srv/data/user/tree /var/lib/marks/a /var/tmp/.job-cleanup~* /srv/data/.job-cleanup~* /srv/data/user/.job-cleanup~*; do
		if [ -e "$at" ] || [ -L "$at" ]; then echo "$at"; fi; done`))}
	for line := range strings.Lines(m.shell("job-cleanup status --json")) {
		var d debt
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			m.t.Fatalf("status says %q: %v", line, err)
		}
		v.owed = append(v.owed, d)
	}
	return v
}

// covers reports whether something owed stands for a path.
func (v view) covers(path string) bool {
	for _, d := range v.owed {
		pattern := strings.TrimSuffix(d.Ref, "*")
		switch {
		case d.Kind == "command" && strings.HasPrefix(path, "/var/lib/marks/"),
			strings.Contains(path, "/.job-cleanup~") && strings.HasPrefix(path[strings.Index(path, "~")+1:], d.Ref[strings.LastIndex(d.Ref, "/")+1:]+"~"),
			path == d.Ref, pattern != d.Ref && strings.HasPrefix(path, pattern):
			return true
		}
	}
	return false
}

// wantOwed fails when something is there that nobody owes: its removal was
// claimed, or it was forgotten.
func wantOwed(t *testing.T, v view) {
	t.Helper()
	for _, path := range v.there {
		if !v.covers(path) {
			t.Errorf("%s is there and not owed; owed are %v", path, v.owed)
		}
	}
}

// untouched is the state of what belongs to others.
func untouched(m *machine) string {
	m.t.Helper()
	return m.shell("find " + kept + " -printf '%p %i %T@\\n' | sort; cat $(find " + kept + " -type f)")
}

// wantNothing fails when something of the jobs is left, owed or written down.
func wantNothing(m *machine) {
	m.t.Helper()
	if v := look(m); len(v.there)+len(v.owed) > 0 {
		m.t.Errorf("there is %v, owed is %v", v.there, v.owed)
		m.t.Log(m.shell("find /var/tmp/batch-a* /srv/data /var/lib/job-cleanup | head -30; journalctl -q -b --no-pager -o short-precise | tail -40"))
	}
	if files := m.shell("find /var/lib/job-cleanup -mindepth 2"); files != "" {
		m.t.Errorf("left of the ledgers: %s", files)
	}
	if bad := m.shell("journalctl -q --no-pager -o cat JOB_CLEANUP_EVENT=ledger-damaged + JOB_CLEANUP_EVENT=unrecorded"); bad != "" {
		m.t.Errorf("the journal has %s", bad)
	}
	if state := m.run("systemctl is-active batch-a-helper.service").Output; state != "inactive\n" {
		m.t.Errorf("the helper is %s", state)
	}
}
