package system_test

import (
	"strings"
	"testing"
	"time"

	"job-cleanup/pkg/journal"
	"job-cleanup/test/rig"
)

// writer is a child that ignores SIGTERM and writes every few milliseconds:
// into its tree, or making that again each time. Its first argument names the
// job, the second says how.
const writer = `#!/bin/sh
trap '' TERM
tree=/var/tmp/$1-tree n=0
mkdir -p "$tree/deep"
echo $$ >"/srv/told/$1.writer"
while :; do
	n=$((n+1))
	case $2 in again) mkdir -p "$tree/deep" ;; esac
	echo text 2>/dev/null >"$tree/deep/$n" || :
	sleep 0.005
done
`

// parent starts it and then ends as its third argument says.
const parent = `#!/bin/sh
/usr/local/bin/writer "$1" "$2" 2>/dev/null &
while ! test -e "/srv/told/$1.writer"; do sleep 0.01; done
case $3 in
exit-*) exit "${3#exit-}" ;;
waits) trap 'kill -KILL $!; wait; exit 1' TERM; touch "/srv/told/$1.waits"; wait ;;
esac
touch "/srv/told/$1.waits"
exec sleep infinity
`

// survives runs a job whose child outlives it, and waits for the end of its
// hook. It is stopped if its ending is no exit.
func survives(m *rig.Machine, name, how, ending, service, sections string) {
	unit := name + ".service"
	install(m, unit, "[Service]\nType=oneshot\n"+arm+"ExecStart=/usr/local/bin/parent %N "+how+" "+ending+"\n"+service+sections)
	if strings.HasPrefix(ending, "exit-") {
		runUnit(m, unit)
		return
	}
	m.Shell("systemctl start --no-block " + unit)
	m.WaitFor(name+" runs", soon, func() bool { return m.Exists("/srv/told/" + name + ".waits") })
	m.Shell("systemctl stop " + unit)
	settle(m, unit)
}

// wantOver fails unless a job's child is over.
func wantOver(t *testing.T, m *rig.Machine, name string, over bool) {
	t.Helper()
	runs := m.Run("sh", "-c", "kill -0 $(cat /srv/told/"+name+".writer)").Code == 0
	if runs == over {
		t.Errorf("%s: its child runs: %v", name, runs)
	}
}

// TestCase29_childThatMakesItAgain: a child of the job that outlives it and
// makes its tree again whenever that goes. The hook comes to an end, owes the
// tree, and says which process it is and what helps. Once that is over a sweep
// ends it.
func TestCase29_childThatMakesItAgain(t *testing.T) {
	const lent = "Environment=WHOSE=%N\nUser=worker\n"
	variants := []struct {
		name, ending, service, sections, advice string
		lives                                   bool // the child does, after the hook
	}{
		{"stopped", "stop", "TimeoutStopSec=6\n" + hook, treeStep, "or set KillSignal=SIGKILL", false},
		{"spared", "exit-3", "KillMode=process\n" + hook, treeStep, "KillMode=control-group ends them", true},
		// The unit's control group is the root of all that its processes see (257).
		{"private", "exit-3", "ProtectControlGroups=private\nKillMode=process\n" + hook, treeStep, "KillMode=process spares them", true},
		{"users", "stop", "User=worker\nTimeoutStopSec=6\n" + hook, treeStep, "KillSignal=SIGKILL", false},
		{"lent", "exit-3", lent + "KillMode=process\nExecStopPost=-+/usr/bin/job-cleanup run\n", "\n[X-Cleanup.Path]\nRemove=/var/tmp/${WHOSE}-tree\n", "KillMode=process spares them", true},
	}
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		installSweep(t, m)
		m.Shell("useradd worker")
		m.Write("/usr/local/bin/writer", 0o755, writer)
		m.Write("/usr/local/bin/parent", 0o755, parent)
		for _, v := range variants {
			unit, tree := v.name+".service", "/var/tmp/"+v.name+"-tree"
			survives(m, v.name, "again", v.ending, v.service, v.sections)
			wantOver(t, m, v.name, !v.lives)
			owed := wantRecord(t, m, unit, journal.Owed, "path", tree)
			wantFields(t, owed, rig.Entry{"JOB_CLEANUP_REASON": "still-written"})
			if gone := records(m, unit, journal.Removed); len(gone) > 0 {
				t.Errorf("%s: called removed: %v", v.name, gone)
			}
			sum := records(m, unit, journal.Summary)
			if len(sum) != 1 {
				t.Fatalf("%s: summaries %v; %v", v.name, sum, said(m, unit))
			}
			if !strings.Contains(sum[0]["MESSAGE"], `"writer"`) || !strings.Contains(sum[0]["MESSAGE"], v.advice) || sum[0]["JOB_CLEANUP_SURVIVORS"] == "" {
				t.Errorf("%s: the summary is %q, %q survivors", v.name, sum[0]["MESSAGE"], sum[0]["JOB_CLEANUP_SURVIVORS"])
			}
			m.Shell("kill -KILL $(cat /srv/told/" + v.name + ".writer) 2>/dev/null || :")
			sweep(t, m, "job-cleanup-sweep.service")
			m.WaitFor(v.name+"'s tree is gone", soon, func() bool { return !m.Exists(tree) })
			wantNothingOwed(t, m, unit)
		}
	})
}

// TestCase29_childThatWrites: a child that only writes into its tree every
// 5 ms. However that ends, the hook is soon over and what it says is true.
func TestCase29_childThatWrites(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		installSweep(t, m)
		m.Write("/usr/local/bin/writer", 0o755, writer)
		m.Write("/usr/local/bin/parent", 0o755, parent)
		began := time.Now()
		survives(m, "writes", "into", "exit-3", "KillMode=process\n"+hook, treeStep)
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("it took %v", took)
		}
		removed, owed := len(records(m, "writes.service", journal.Removed)), len(records(m, "writes.service", journal.Owed))
		if there := m.Exists("/var/tmp/writes-tree"); removed+owed != 1 || there == (removed == 1) {
			t.Errorf("%d removed, %d owed, the tree is there: %v", removed, owed, there)
		}
		wantOver(t, m, "writes", false)
		m.Shell("kill -KILL $(cat /srv/told/writes.writer)")
		sweep(t, m, "job-cleanup-sweep.service")
		wantNothingOwed(t, m, "writes.service")
		if m.Exists("/var/tmp/writes-tree") {
			t.Errorf("the tree stays: %v", said(m, "writes.service"))
		}
	})
}

// TestWhatEndsSurvivors: what the summary advises helps, and what ends by itself
// leaves none: see the table in docs/safety.md.
func TestWhatEndsSurvivors(t *testing.T) {
	variants := []struct{ name, ending, service string }{
		{"killed", "stop", "KillSignal=SIGKILL\n"},
		{"waits", "waits", ""},
		{"ended", "exit-3", "TimeoutStopSec=1\n"},
		{"mixed", "exit-3", "KillMode=mixed\nTimeoutStopSec=60\n"},
	}
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		m.Write("/usr/local/bin/writer", 0o755, writer)
		m.Write("/usr/local/bin/parent", 0o755, parent)
		for _, v := range variants {
			survives(m, v.name, "again", v.ending, v.service+hook, treeStep)
			wantOver(t, m, v.name, true)
			wantRecord(t, m, v.name+".service", journal.Removed, "path", "/var/tmp/"+v.name+"-tree")
			if sum := records(m, v.name+".service", journal.Summary); len(sum) != 1 || sum[0]["JOB_CLEANUP_SURVIVORS"] != "" {
				t.Errorf("%s: %v", v.name, said(m, v.name+".service"))
			}
		}
	})
}
