// Package system_test runs the built program under real systemd: jobs that
// end in every way there is, and what is left of them afterwards.
package system_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"job-cleanup/test/rig"
)

// binary is the program under test, built as it is shipped.
var binary string

func TestMain(m *testing.M) {
	code, err := buildAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func buildAndRun(m *testing.M) (int, error) {
	folder, err := os.MkdirTemp("", "job-cleanup-system-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	binary = filepath.Join(folder, "job-cleanup")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, "job-cleanup/cmd/job-cleanup")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build the program: %w\n%s", err, output)
	}
	return m.Run(), nil
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
