package system_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"job-cleanup/test/rig"
)

// notInside are tests that compare with the systemd of one suite what is meant
// for all: the folders that 257 no longer looks into are in our search path.
var notInside = map[string]string{"trixie pkg/unitfile": "^TestSearchPaths_asSystemdDoes$"}

// TestPackagesInside runs tests of packages where systemd runs the machine:
// on most hosts that build this they have to skip what asks it.
func TestPackagesInside(t *testing.T) {
	packages := []string{"pkg/manager", "pkg/unitfile", "pkg/journal"}
	folder := t.TempDir()
	for _, name := range packages {
		build := exec.Command("go", "test", "-c", "-o", inside(folder, name), "job-cleanup/"+name)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if output, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build the tests of %s: %v\n%s", name, err, output)
		}
	}
	source, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	// The machines end before the folder with the tests goes.
	t.Run("suite", func(t *testing.T) {
		inSuites(t, func(t *testing.T, m *rig.Machine) {
			m.Shell("useradd -m worker; systemctl start user@$(id -u worker).service")
			for _, name := range packages {
				// C: systemd-analyze draws its arrows in ASCII then.
				result := m.Run("sh", "-c", `cd "$1" && LANG=C exec "$2" -test.v -test.timeout 90s -test.skip "$3"`, "sh",
					"/src/"+name, inside("/tests", name), notInside[m.Suite+" "+name])
				passed := strings.Count(result.Stdout, "--- PASS")
				if result.Code != 0 || passed == 0 {
					t.Errorf("%s: %v", name, result)
				}
				for line := range strings.Lines(result.Stdout) {
					if strings.HasPrefix(line, "--- SKIP") {
						t.Errorf("%s: %s", name, line)
					}
				}
			}
		}, rig.Bind(source, "/src"), rig.Bind(folder, "/tests"))
	})
}

// inside is the path of a package's tests.
func inside(folder, name string) string {
	return filepath.Join(folder, strings.ReplaceAll(name, "/", "-")+".test")
}
