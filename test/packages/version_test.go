package packages_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestVersion: whatever git knows of a checkout, the version is one that dpkg and
// rpm take, and what came later is newer for both.
func TestVersion(t *testing.T) {
	for _, tool := range []string{"git", "dpkg"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("needs " + tool)
		}
	}
	script, err := filepath.Abs("../../packaging/version")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	steps := []struct{ git, want string }{
		{"", `^0\.0\.0$`},
		{"init -q; git commit -q --allow-empty -m one", `^0\.0\.0\+git\.20200101000000\.[0-9a-f]{7,}$`},
		{"tag v1.2.0-rc1", `^1\.2\.0~rc1$`},
		{"commit -q --allow-empty -m two", `^1\.2\.0~rc1\+1\.g[0-9a-f]{7,}$`},
		{"tag v1.2.0", `^1\.2\.0$`},
		{"commit -q --allow-empty -m three; git tag -f other", `^1\.2\.0\+1\.g[0-9a-f]{7,}$`},
		{"commit -q --allow-empty -m four; git tag v1.10.0", `^1\.10\.0$`},
	}
	last := ""
	for _, step := range steps {
		if step.git != "" {
			inFolder(t, folder, "git "+step.git)
		}
		got := inFolder(t, folder, script)
		if !regexp.MustCompile(step.want).MatchString(got) {
			t.Errorf("after git %s: %q, want %s", step.git, got, step.want)
		}
		if last != "" {
			if err := exec.Command("dpkg", "--compare-versions", got, "gt", last).Run(); err != nil {
				t.Errorf("%q is not newer than %q: %v", got, last, err)
			}
		}
		last = got
	}
}

// inFolder runs a script with a git that knows nobody's settings, and no
// repository above the folder.
func inFolder(t *testing.T, folder, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CEILING_DIRECTORIES="+filepath.Dir(folder),
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
		"GIT_AUTHOR_DATE=2020-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2020-01-01T00:00:00Z")
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", script, err, output)
	}
	return strings.TrimSpace(string(output))
}
