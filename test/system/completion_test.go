package system_test

import (
	"path/filepath"
	"testing"

	"job-cleanup/test/rig"
)

// TestCompletionKnowsTheUnits: what bash offers are the units that the service
// manager itself lists, templates only where one is meant.
func TestCompletionKnowsTheUnits(t *testing.T) {
	folder, err := filepath.Abs("../../packaging/completions")
	if err != nil {
		t.Fatal(err)
	}
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		install(m, "nightly.service", oneshot("ExecStart=/bin/true", ""))
		install(m, "nightly@.service", oneshot("ExecStart=/bin/true", "")+"RemainAfterExit=yes\n")
		install(m, `nightly-a\x2db.service`, oneshot("ExecStart=/bin/true", ""))
		m.Shell("systemctl start nightly@7.service")
		for line, want := range map[string]string{
			"job-cleanup run night":             "nightly-a\\\\x2db.service\nnightly.service\nnightly@7.service",
			"job-cleanup run nightly@":          "7.service",
			"job-cleanup generate dropin night": "nightly-a\\\\x2db.service\nnightly.service\nnightly@.service\nnightly@7.service",
		} {
			r := m.Run("bash", "--norc", "/opt/completions/testdata/bash.sh", "/opt/completions/job-cleanup.bash", line)
			if r.Code != 0 || r.Stderr != "" || r.Stdout != want+"\n" {
				t.Errorf("%q: offered %q, want %q; %v", line, r.Stdout, want, r)
			}
		}
	}, rig.Bind(folder, "/opt/completions"))
}
