package system_test

import (
	"encoding/json"
	"strings"
	"testing"

	"job-cleanup/test/rig"
)

// TestHistory: the real journal tells of a good run, a bad one, and not of one
// that a plain user made up.
func TestHistory(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		m.Shell("useradd forger")
		install(m, "good.service", oneshot("ExecStart=/bin/mkdir /var/tmp/good-tree", treeStep))
		install(m, "bad.service", oneshot("ExecStart=/bin/sh -c 'mkdir /var/tmp/bad-tree; kill -KILL $$$$'", treeStep))
		runUnit(m, "good.service")
		runUnit(m, "bad.service")
		m.Write("/srv/forged", 0o644, "MESSAGE=forged\nMESSAGE_ID=7e354e78858c45328a118742fb1d6aad\nJOB_CLEANUP_EVENT=summary\nJOB_CLEANUP_UNIT=good.service\nJOB_CLEANUP_INVOCATION=forged\nSERVICE_RESULT=success\n")
		m.Shell("su forger -c 'logger --journald=/srv/forged'; journalctl --sync")

		all := m.Shell("job-cleanup history")
		for _, want := range []string{"good.service  success", "bad.service   signal KILL"} {
			if !strings.Contains(all, want) {
				t.Errorf("no %q in\n%s", want, all)
			}
		}
		if seen := m.Shell("journalctl --output=cat JOB_CLEANUP_INVOCATION=forged"); !strings.Contains(seen, "forged") || strings.Contains(all, "forged") {
			t.Errorf("the journal has %q of the forger, history tells\n%s", seen, all)
		}
		if out := m.Shell("job-cleanup history --result failure"); strings.Contains(out, "good.service") || !strings.Contains(out, "bad.service") {
			t.Errorf("of failures:\n%s", out)
		}
		wantOneRun(t, m)
		m.Shell("job-cleanup history --html /srv/history.html")
		page := m.Shell("stat -c %a /srv/history.html; cat /srv/history.html")
		wantFollowed(t, m)
		for _, want := range []string{"600\n<!DOCTYPE html>", "Nothing is owed, but 1 of 2 runs ended badly.", "signal KILL", "/var/tmp/bad-tree", "/var/tmp/good-tree"} {
			if !strings.Contains(page, want) {
				t.Errorf("no %q in the page\n%s", want, page)
			}
		}
		if strings.Contains(page, "forged") {
			t.Error("the page tells of the forged run")
		}
	})
}

// wantFollowed: what a hook owes is owed on the page until a sweep has ended it.
func wantFollowed(t *testing.T, m *rig.Machine) {
	t.Helper()
	install(m, "owes.service", oneshot("ExecStart=/bin/true", "[X-Cleanup.Command]\nRun=/usr/bin/test -e /srv/ready\n"))
	runUnit(m, "owes.service")
	page := m.Shell("job-cleanup history owes --html -")
	if !strings.Contains(page, "1 thing is still owed, for ") || !strings.Contains(page, "/usr/bin/test#") {
		t.Errorf("before the sweep:\n%s", page)
	}
	m.Shell("touch /srv/ready; job-cleanup sweep --all; journalctl --sync")
	page = m.Shell("job-cleanup history owes --html -")
	if !strings.Contains(page, "Nothing is owed, and no run ended badly.") || !strings.Contains(page, ">1, done ") {
		t.Errorf("after the sweep:\n%s", page)
	}
}

// wantOneRun looks at one run in detail.
func wantOneRun(t *testing.T, m *rig.Machine) {
	t.Helper()
	var run struct {
		Unit, Invocation string
		Counts           map[string]int
	}
	if err := json.Unmarshal([]byte(m.Shell("job-cleanup history bad --json")), &run); err != nil {
		t.Fatal(err)
	}
	if run.Unit != "bad.service" || run.Counts["removed"] != 1 {
		t.Errorf("of bad.service: %+v", run)
	}
	detail := m.Shell("job-cleanup history --invocation " + run.Invocation)
	for _, want := range []string{"removed path /var/tmp/bad-tree", "cleanup of bad.service (signal"} {
		if !strings.Contains(detail, want) {
			t.Errorf("no %q in\n%s", want, detail)
		}
	}
}
