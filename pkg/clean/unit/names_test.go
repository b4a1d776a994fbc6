package unit

import (
	"strings"
	"testing"

	"job-cleanup/pkg/residue"
)

const (
	invocation = "0123456789abcdef0123456789abcdef"
	other      = "fedcba9876543210fedcba9876543210"
)

func TestNames(t *testing.T) {
	plain := residue.Job{Unit: "batch.service", Invocation: invocation}
	instance := residue.Job{Unit: `batch@a\x2db.service`, Invocation: invocation}
	short := residue.Job{Unit: "batch@1.service", Invocation: invocation}
	evil := residue.Job{Unit: "cleanup@postgresql.service", Invocation: invocation}
	ci := residue.Job{Unit: "github", Invocation: "github:1234567:build:1:runner-1", CI: true}
	for _, c := range []struct {
		job  residue.Job
		name string
		ok   bool
	}{
		{plain, "batch-helper.service", true},
		{plain, "db-batch.scope", true},
		{plain, "run-" + invocation + ".scope", true},
		{plain, invocation + ".scope", true},
		{plain, "run-" + other + ".scope", false},
		{plain, "batchy-helper.service", false},
		{plain, "rebatch-helper.service", false},
		{plain, "batch.service", false},
		{plain, "batch.timer", false},
		{plain, "batch.socket", false},
		{plain, "helper.service", false},
		{plain, "batch-helper.slice", false},
		{plain, "batch-helper.target", false},
		{plain, "batch-helper.mount", false},
		{plain, "batch-helper", false},
		{plain, "batch/helper.service", false},
		{plain, "", false},

		{instance, `helper-a\x2db.service`, true},
		{instance, `helper@a\x2db.service`, true},
		{instance, `helper-a\x2dbc.service`, false},
		{instance, "batch-helper.service", false}, // any sibling's
		{instance, `batch@a\x2db.service`, false},
		{instance, `batch@a\x2db.timer`, false},
		{instance, `batch@a\x2dc.service`, false},
		{instance, `batch@x-a\x2db.service`, false},

		{short, "helper-1.service", true},
		{short, "batch-1-db.service", true},
		{short, "helper-10.service", false},
		{short, "helper-01.service", false},
		{short, `helper-1\x2d0.service`, false},
		{short, "1.service", false},
		{short, "batch@10.service", false},
		{short, "session-1.scope", false},
		{short, "user@1.service", false},
		{short, "getty@tty.1.service", false},
		{short, "systemd-x-1.service", false},
		{short, "dbus-1.service", false},
		{short, "sshd@1.service", false},
		{short, "job-cleanup-1.service", false},

		{evil, "postgresql.service", false},
		{evil, "postgresql-helper.service", true},

		{ci, "db-1234567.service", true},
		{ci, "db-12345678.service", false},
		{ci, "db-build.service", false},
		{ci, "db-runner-1.service", false},
		{ci, "db-1.service", false},
		{ci, "github-db.service", false},

		{residue.Job{}, "batch.service", false},
		{residue.Job{Unit: "by hand", Invocation: invocation}, "x-hand.service", false},
	} {
		if err := namesOf(c.job).check(c.name); (err == nil) != c.ok {
			t.Errorf("job %s: unit %q: %v, want allowed %v", c.job.Unit, c.name, err, c.ok)
		}
	}
}

func TestNamesOwn(t *testing.T) {
	job := residue.Job{Unit: "batch.service", Invocation: invocation}
	for _, name := range []string{"batch.service", "batch.timer"} {
		if err := namesOf(job).check(name); err == nil || !strings.Contains(err.Error(), "belongs to the job itself") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPatterns(t *testing.T) {
	job := residue.Job{Unit: "batch@1.service", Invocation: invocation}
	for pattern, ok := range map[string]bool{
		"batch-1-*.service":              true,
		"*-1.service":                    true,
		"run-" + invocation + "*.scope":  false,
		"run-" + invocation + "-?.scope": true,
		"batch-1*.service":               false,
		"batch-*1.service":               false,
		"batch-[1].service":              false,
		"batch-[-1-]x.service":           false,
		"*.service":                      false,
		"*":                              false,
		"batch-1-*":                      false,
		"batch-1-*.*":                    false,
		"batch-1-*.slice":                false,
		"batch-1-[a.service":             false,
		"batch@*-1-x.service":            false,
	} {
		if err := namesOf(job).checkPattern(pattern); (err == nil) != ok {
			t.Errorf("%q: %v, want allowed %v", pattern, err, ok)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{`a\x2db-*.service`, `a\x2db-1.service`, true},
		{`a\x2db-*.service`, `ax2db-1.service`, false},
		{"a-[!0-9].service", "a-x.service", true},
		{"a-[!0-9].service", "a-1.service", false},
		{"a-?.service", "a-12.service", false},
	} {
		if got := matches(c.pattern, c.name); got != c.want {
			t.Errorf("%q %q: %v", c.pattern, c.name, got)
		}
	}
}
