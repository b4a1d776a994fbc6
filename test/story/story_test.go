//go:build linux

package story_test

import (
	"slices"
	"strings"
	"testing"

	"job-cleanup/pkg/journal"
	"job-cleanup/test/rig"
	"job-cleanup/test/story"
)

// endings are the ways in which a job ends, and what systemd makes of it.
var endings = []struct {
	name                 string
	how                  string // "": it waits for its time to be over
	result, code, status string
}{
	{"succeeds", "0", "success", "exited", "0"},
	{"fails", "3", "exit-code", "exited", "3"},
	{"killed", "kill", "signal", "killed", "KILL"},
	{"times_out", "", "timeout", "killed", "TERM"},
}

// TestStory runs all tests in one world for each suite: the servers are what
// takes time.
func TestStory(t *testing.T) {
	binds := story.Build(t)
	for _, suite := range rig.Suites {
		t.Run(suite, func(t *testing.T) {
			t.Parallel()
			w := story.NewWorld(t)
			m := rig.Boot(t, suite, binds...)
			w.Install(m)
			everyEnding(t, w, m)
			everythingTracked(t, w, m)
			theNextRun(t, w, m)
			everyServerDown(t, w, m)
		})
	}
}

// everyEnding: whichever way a job ends, no server has anything of it
// afterwards, and a job that runs meanwhile keeps everything.
func everyEnding(t *testing.T, w *story.World, m *rig.Machine) {
	m.Write("/etc/systemd/system/batch@times_out.service.d/soon.conf", 0o644, "[Service]\nTimeoutStartSec=20\n")
	m.Shell("systemctl daemon-reload")
	w.Begin(m, "bystander")
	for _, ending := range endings {
		w.Begin(m, ending.name)
		wantHeld(t, w, m, ending.name, story.Everything...)
	}
	for _, ending := range endings {
		if ending.how != "" {
			w.End(m, ending.name, ending.how)
		}
		w.Settle(m, ending.name)
		wantHeld(t, w, m, ending.name)
		wantVerdict(t, m, ending.name, rig.Entry{
			"SERVICE_RESULT": ending.result, "EXIT_CODE": ending.code, "EXIT_STATUS": ending.status,
		})
		wantOneRecordEach(t, m, ending.name)
	}
	wantHeld(t, w, m, "bystander", story.Everything...)
	wantNothingOwed(t, m, story.Name("bystander"))
	m.Shell("systemctl stop " + story.Name("bystander"))
	w.Settle(m, "bystander")
	wantHeld(t, w, m, "bystander")
	wantNothingOwed(t, m)
	wantNoSecrets(t, w, m)
}

// everythingTracked: a job without a plan, that is not root, tells by itself
// what it takes, before it is there or after.
func everythingTracked(t *testing.T, w *story.World, m *rig.Machine) {
	w.BeginTracking(m)
	wantHeld(t, w, m, story.Tracking, story.Everything...)
	w.EndTracking(m)
	w.Settle(m, story.Tracking)
	wantHeld(t, w, m, story.Tracking)
	wantVerdict(t, m, story.Tracking, rig.Entry{"SERVICE_RESULT": "exit-code", "EXIT_CODE": "exited", "EXIT_STATUS": "3"})
	wantOneRecordEach(t, m, story.Tracking)
	// The hook of such a job has no right to root's note of it; a sweep has.
	if status := m.Run("job-cleanup", "status").Stdout; status != "Nothing is owed.\n" {
		t.Errorf("%s: status says %q", m.Suite, status)
	}
	if swept := m.Run("job-cleanup", "sweep"); swept.Code != 0 {
		t.Errorf("%s: sweep: %v", m.Suite, swept)
	}
	wantNothingOwed(t, m)
	wantNoSecrets(t, w, m)
}

// everyServerDown: with a server down everything else is done, what is owed is
// owed with the reason, the unit keeps its verdict, and when the server is
// back a sweep does the rest.
func everyServerDown(t *testing.T, w *story.World, m *rig.Machine) {
	for kind, server := range w.Servers() {
		name := "without_" + kind
		w.Begin(m, name)
		server.Stop()
		w.End(m, name, "3")
		w.Settle(m, name)
		wantHeld(t, w, m, name)
		wantVerdict(t, m, name, rig.Entry{"SERVICE_RESULT": "exit-code", "EXIT_CODE": "exited", "EXIT_STATUS": "3"})
		wantOwed(t, m, name, kind)
		wantNoSecrets(t, w, m)

		server.Start()
		if held := w.Holds(m, name); !slices.ContainsFunc(held, func(what string) bool { return strings.HasPrefix(what, kind) }) {
			t.Errorf("%s is back, and there is only %q of %s: the test shows nothing", kind, held, name)
		}
		if swept := m.Run("job-cleanup", "sweep", "--all"); swept.Code != 0 {
			t.Errorf("sweep: %v", swept)
		}
		wantHeld(t, w, m, name)
		wantNothingOwed(t, m)
	}
}

// wantHeld fails unless there is exactly this of a job.
func wantHeld(t *testing.T, w *story.World, m *rig.Machine, name string, want ...string) {
	t.Helper()
	if held := w.Holds(m, name); !slices.Equal(held, want) {
		t.Errorf("%s: there is %q of %s, want %q; its records:\n%s", m.Suite, held, name, want, said(m, name))
	}
}

// wantVerdict fails unless systemd and the job's one summary say how it ended.
func wantVerdict(t *testing.T, m *rig.Machine, name string, want rig.Entry) {
	t.Helper()
	if got := m.Show(story.Name(name), "Result")["Result"]; got != want["SERVICE_RESULT"] {
		t.Errorf("%s: the result of %s is %q, want %q", m.Suite, name, got, want["SERVICE_RESULT"])
	}
	summaries := records(m, name, journal.Summary)
	if len(summaries) != 1 {
		t.Errorf("%s: %d summaries of %s, want 1", m.Suite, len(summaries), name)
		return
	}
	for field, value := range want {
		if got := summaries[0][field]; got != value {
			t.Errorf("%s: %s of %s is %q, want %q", m.Suite, field, name, got, value)
		}
	}
}

// records returns a job's records of an event.
func records(m *rig.Machine, name string, event journal.Event) []rig.Entry {
	return m.Journal("JOB_CLEANUP_UNIT="+story.Name(name), "JOB_CLEANUP_EVENT="+string(event))
}

// said lists all of a job's records, for failures.
func said(m *rig.Machine, name string) string {
	var lines []string
	for _, entry := range m.Journal("JOB_CLEANUP_UNIT=" + story.Name(name)) {
		lines = append(lines, "  "+entry["JOB_CLEANUP_EVENT"]+": "+entry["MESSAGE"])
	}
	return strings.Join(lines, "\n")
}

// wantOneRecordEach fails unless each residue has one record that it was
// removed, and nothing else was said of any.
func wantOneRecordEach(t *testing.T, m *rig.Machine, name string) {
	t.Helper()
	var got []string
	for _, entry := range records(m, name, journal.Removed) {
		got = append(got, entry["JOB_CLEANUP_KIND"]+" "+entry["JOB_CLEANUP_TYPE"])
	}
	slices.Sort(got)
	if !slices.Equal(got, story.Residue) {
		t.Errorf("%s: removed of %s: %q, want %q; all records:\n%s", m.Suite, name, got, story.Residue, said(m, name))
	}
	for _, event := range []journal.Event{journal.Absent, journal.Owed, journal.Refused, journal.LostOwnership, journal.NotRevocable, journal.Unrecorded, journal.Problem} {
		if found := records(m, name, event); len(found) != 0 {
			t.Errorf("%s: of %s there is %q", m.Suite, name, found[0]["MESSAGE"])
		}
	}
}

// wantOwed fails unless all that is owed is of one kind, because its server
// does not answer.
func wantOwed(t *testing.T, m *rig.Machine, name, kind string) {
	t.Helper()
	owed := records(m, name, journal.Owed)
	if len(owed) == 0 {
		t.Errorf("%s: nothing is owed by %s; its records:\n%s", m.Suite, name, said(m, name))
	}
	for _, entry := range owed {
		if entry["JOB_CLEANUP_KIND"] != kind || entry["JOB_CLEANUP_REASON"] != "unreachable" {
			t.Errorf("%s: owed by %s: %s of %s: %s", m.Suite, name, entry["JOB_CLEANUP_REASON"], entry["JOB_CLEANUP_KIND"], entry["MESSAGE"])
		}
	}
}

// wantNothingOwed fails if there is a ledger, but for those of some units.
func wantNothingOwed(t *testing.T, m *rig.Machine, but ...string) {
	t.Helper()
	for found := range strings.Lines(m.Run("find", "/var/lib/job-cleanup", "-name", "*.jsonl").Stdout) {
		if !slices.ContainsFunc(but, func(unit string) bool { return strings.Contains(found, unit) }) {
			t.Errorf("%s: owed: %s", m.Suite, m.Shell("cat '"+strings.TrimSpace(found)+"'"))
		}
	}
}

// wantNoSecrets fails if a secret stands in the journal or in a ledger.
func wantNoSecrets(t *testing.T, w *story.World, m *rig.Machine) {
	t.Helper()
	m.Shell("journalctl --sync")
	written := m.Shell("journalctl -o export --all; cat $(find /var/lib/job-cleanup -type f) /dev/null")
	secrets := w.Secrets()
	for token := range strings.FieldsSeq(m.Shell("cat /srv/told/*.token")) {
		secrets = append(secrets, token)
	}
	for _, secret := range secrets {
		if secret == "" || strings.Contains(written, secret) {
			t.Errorf("%s: the secret %.10q… is written somewhere", m.Suite, secret)
		}
	}
}
