// Package system_test runs the built program under real systemd: jobs that
// end in every way there is, and what is left of them afterwards.
package system_test

import (
	"os"
	"testing"

	"job-cleanup/test/rig"
)

// binary is the program under test, built as it is shipped.
var binary string

func TestMain(m *testing.M) {
	os.Exit(rig.WithProgram(func(file string) { binary = file }, m.Run))
}

// inSuites runs a test in a machine of its own in each suite.
func inSuites(t *testing.T, test func(*testing.T, *rig.Machine), options ...rig.Option) {
	t.Helper()
	t.Parallel()
	for _, suite := range rig.Suites {
		t.Run(suite, func(t *testing.T) {
			t.Parallel()
			m := rig.Boot(t, suite, append(options, rig.Bind(binary, "/usr/bin/job-cleanup"))...)
			m.Write("/usr/local/bin/job", 0o755, jobScript)
			m.Shell("mkdir -m 1777 /srv/told")
			test(t, m)
		})
	}
}
