package system_test

import (
	"strings"
	"testing"

	"job-cleanup/test/rig"
)

// TestStatusInside: a plain user's job sees what it tracked, and is told that
// this is not all there is.
func TestStatusInside(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		m.Shell("useradd worker")
		m.Write("/usr/local/bin/look", 0o755, "#!/bin/sh -e\nmkdir /var/tmp/look-tree\njob-cleanup track path /var/tmp/look-tree\njob-cleanup status >/var/tmp/look.out 2>&1\n")
		install(m, "look.service", oneshot("User=worker\nExecStart=/usr/local/bin/look", treeStep))
		runUnit(m, "look.service")
		for _, want := range []string{"look.service  path", "/var/tmp/look-tree", "hint: these are your own ledgers"} {
			if out := m.Shell("cat /var/tmp/look.out"); !strings.Contains(out, want) {
				t.Errorf("no %q in %s", want, out)
			}
		}
	})
}
