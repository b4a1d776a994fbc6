//go:build linux

package servers

import (
	"os/exec"
	"strings"

	"job-cleanup/test/rig"
)

// promtoolBinary is Prometheus' own tool, out of Debian's package.
func promtoolBinary() (string, error) { return debian("bookworm", "prometheus", "usr/bin/promtool") }

// CheckMetrics returns what Prometheus' own check finds wrong with a text of
// metrics, "" for nothing. Without the tool the test is skipped.
func CheckMetrics(t rig.T, text string) string {
	t.Helper()
	binary, err := promtoolBinary()
	if err != nil {
		t.Skipf("needs promtool: %v", err)
	}
	cmd := exec.Command(binary, "check", "metrics")
	cmd.Stdin = strings.NewReader(text)
	said, err := cmd.CombinedOutput()
	if err == nil {
		return string(said)
	}
	return string(said) + err.Error()
}
