package system_test

import (
	"strings"
	"testing"

	"job-cleanup/pkg/journal"
	"job-cleanup/pkg/outcome"
	"job-cleanup/test/rig"
)

// ending is a way for a job to end.
type ending struct {
	name    string
	service string          // lines of [Service]; JOB stands for the script and the unit's name
	provoke string          // a script that ends the waiting job; UNIT stands for it
	want    outcome.Outcome // as the hook is told
}

var endings = []ending{
	{name: "good", service: "ExecStart=JOB exit-0", want: outcome.Outcome{Result: "success", Code: "exited", Status: "0"}},
	{name: "bad", service: "ExecStart=JOB exit-3", want: outcome.Outcome{Result: "exit-code", Code: "exited", Status: "3"}},
	{name: "stopped", service: "ExecStart=JOB wait", provoke: "systemctl stop UNIT",
		want: outcome.Outcome{Result: "signal", Code: "killed", Status: "TERM"}},
	{name: "killed", service: "ExecStart=JOB wait", provoke: "systemctl kill --kill-whom=main -s KILL UNIT",
		want: outcome.Outcome{Result: "signal", Code: "killed", Status: "KILL"}},
	{name: "late", service: "ExecStart=JOB wait\nTimeoutStartSec=3",
		want: outcome.Outcome{Result: "timeout", Code: "killed", Status: "TERM"}},
	{name: "missing", service: "ExecStartPre=JOB exit-0\nExecStart=/usr/local/bin/is-not-there",
		want: outcome.Outcome{Result: "exit-code", Code: "exited", Status: "203"}},
}

// TestCase01_endings: however a job ends, its residue goes, once and with the
// right words, and the unit's own verdict is what it is without us.
func TestCase01_endings(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		for _, e := range endings {
			t.Run(e.name, func(t *testing.T) {
				m := m.In(t)
				bare, ours := "bare-"+e.name, "ours-"+e.name
				e.install(m, bare, false)
				e.install(m, ours, true)
				verdict := e.run(m, bare)
				if left := residueOf(m, bare); len(left) != 4 {
					t.Errorf("without us only %q is left: the test shows nothing", left)
				}
				if got := e.run(m, ours); got != verdict {
					t.Errorf("the unit ended %q, without us %q", got, verdict)
				}
				wantClean(t, m, ours)
				wantNothingOwed(t, m, ours+".service")
				e.wantRecords(t, m, ours)
			})
		}
	})
}

// install writes the unit, with or without our wiring.
func (e ending) install(m *rig.Machine, name string, wired bool) {
	service := strings.ReplaceAll(e.service, "JOB", "/usr/local/bin/job "+name)
	if wired {
		install(m, name+".service", oneshot(service, steps+helperStep))
	} else {
		install(m, name+".service", "[Service]\nType=oneshot\n"+service+"\n")
	}
}

// run lets the unit end and returns its own verdict.
func (e ending) run(m *rig.Machine, name string) string {
	unit := name + ".service"
	if e.provoke == "" {
		runUnit(m, unit)
	} else {
		m.Shell("systemctl start --no-block " + unit)
		m.WaitFor("the job runs", soon, func() bool { return m.Exists("/srv/told/" + name + ".waits") })
		m.Shell(strings.ReplaceAll(e.provoke, "UNIT", unit))
		settle(m, unit)
	}
	end := m.Show(unit, "Result", "ExecMainCode", "ExecMainStatus", "ActiveState")
	return end["ActiveState"] + " " + end["Result"] + " " + end["ExecMainCode"] + " " + end["ExecMainStatus"]
}

func (e ending) wantRecords(t *testing.T, m *rig.Machine, name string) {
	t.Helper()
	unit := name + ".service"
	summary := wantSummary(t, m, unit, e.want)
	wantFields(t, summary, rig.Entry{
		"PRIORITY":               journal.Info.String(),
		"JOB_CLEANUP_INVOCATION": m.Shell("cat /srv/told/" + name + ".invocation"),
		"JOB_CLEANUP_REMOVED":    "4",
	})
	if result := m.Show(unit, "Result")["Result"]; e.want.Result != result {
		t.Errorf("we were told %q, the unit says %q", e.want.Result, result)
	}
	wantRecord(t, m, unit, journal.Removed, "path", "/var/tmp/"+name+"-tree")
	wantRecord(t, m, unit, journal.Removed, "lockfile", "/var/tmp/"+name+".lock")
	wantRecord(t, m, unit, journal.Removed, "unit", name+"-helper.service")
	wantRecord(t, m, unit, journal.Removed, "command", "")
}

// TestRestart: each attempt finds a clean place.
func TestRestart(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		m.Write("/usr/local/bin/third-time", 0o755, `#!/bin/sh
echo "$INVOCATION_ID" >>/srv/told/attempts
test "$(wc -l </srv/told/attempts)" -lt 3 || exec /usr/local/bin/job again exit-0
exec /usr/local/bin/job again exit-4
`)
		install(m, "again.service", oneshot("ExecStart=/usr/local/bin/third-time\nRestart=on-failure\nRestartSec=100ms", steps+helperStep))
		m.Start("again.service")
		m.WaitFor("the third attempt", soon, func() bool {
			end := m.Show("again.service", "ActiveState")
			return end["ActiveState"] == "inactive" && m.Run("grep", "-c", "", "/srv/told/attempts").Stdout == "3\n"
		})
		if m.Exists("/srv/told/again.dirty") {
			t.Errorf("an attempt found %s", m.Shell("cat /srv/told/again.dirty"))
		}
		wantClean(t, m, "again")
		var told []string
		for _, summary := range records(m, "again.service", journal.Summary) {
			told = append(told, summary["JOB_CLEANUP_INVOCATION"]+" "+summary["SERVICE_RESULT"])
		}
		ids := strings.Fields(m.Shell("cat /srv/told/attempts"))
		if len(ids) != 3 || len(told) != 3 || told[0] != ids[0]+" exit-code" || told[1] != ids[1]+" exit-code" || told[2] != ids[2]+" success" {
			t.Errorf("attempts %q, summaries %q", ids, told)
		}
		wantNothingOwed(t, m, "again.service")
	})
}

// TestConditionSaysNo: nothing ran, so nothing is cleaned and nothing said.
func TestConditionSaysNo(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		install(m, "not.service", "[Service]\nType=oneshot\nExecCondition=/bin/false\n"+arm+"ExecStart=/usr/local/bin/job not exit-0\n"+
			hook+"ExecStopPost=touch /srv/told/not.hooked\n"+steps)
		m.Shell("mkdir /var/tmp/not-tree")
		runUnit(m, "not.service")
		if m.Exists("/srv/told/not.registered") || !m.Exists("/srv/told/not.hooked") {
			t.Fatal("the job ran, or the hook did not")
		}
		if !m.Exists("/var/tmp/not-tree") {
			t.Error("something was removed")
		}
		if spoken := m.Journal("SYSLOG_IDENTIFIER=job-cleanup"); len(spoken) > 0 {
			t.Errorf("we said %v", spoken)
		}
		if all := m.Journal("_COMM=job-cleanup"); len(all) > 0 {
			t.Errorf("we printed %v", all)
		}
	})
}

// TestStartPreFails: no main process was known, so no exit code is.
func TestStartPreFails(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		install(m, "early.service", oneshot("ExecStartPre=/usr/local/bin/job early exit-5\nExecStart=/bin/true", steps+helperStep))
		runUnit(m, "early.service")
		wantClean(t, m, "early")
		wantSummary(t, m, "early.service", outcome.Outcome{Result: "exit-code"})
		if got := m.Show("early.service", "Result", "ExecMainStatus"); got["Result"] != "exit-code" {
			t.Errorf("the unit ended %v", got)
		}
	})
}
