// Package packages_test makes the packages and has them installed, upgraded and
// removed, by apt under real systemd.
package packages_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"job-cleanup/test/rig"
)

// The versions that are made, each an upgrade of the one before it.
const older, newer = "1.2.0+3.gabc1234", "1.10.0"

// made is the folder of this run's packages, one folder for each version.
var made string

func TestMain(m *testing.M) {
	code, err := runIn(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runIn(m *testing.M) (int, error) {
	folder, err := os.MkdirTemp("", "job-cleanup-packages-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	made = folder
	return m.Run(), nil
}

// needPackages makes them for the first test that asks, and skips where that
// can't be.
func needPackages(t *testing.T) {
	t.Helper()
	for _, tool := range []string{"make", "git", "gzip"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("needs " + tool)
		}
	}
	if err := makeOnce(); err != nil {
		t.Fatal(err)
	}
}

var makeOnce = sync.OnceValue(func() error {
	return errors.Join(makePackages(older), makePackages(newer))
})

// makePackages builds in a folder of its own, since others build in the tree's.
func makePackages(version string) error {
	make := exec.Command("make", "--no-print-directory", "-C", "../..", "package",
		"BUILD="+filepath.Join(made, version), "PACKAGE_VERSION="+version)
	if output, err := make.CombinedOutput(); err != nil {
		return fmt.Errorf("make package: %w\n%s", err, output)
	}
	return nil
}

// find is the one file of a version whose name ends as told.
func find(t *testing.T, version, suffix string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(made, version, "*"+suffix))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s of %s: %v, %v", suffix, version, found, err)
	}
	return found[0]
}

// tree lists the files below what `make install` made, as a package names them.
func tree(t *testing.T, version string) []string {
	t.Helper()
	root := filepath.Join(made, version, "package-root")
	output, err := exec.Command("find", root, "-not", "-type", "d", "-printf", "/%P\n").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(output))
}

// inSuites runs a test in a machine of its own in each suite.
func inSuites(t *testing.T, test func(*testing.T, *rig.Machine), options ...rig.Option) {
	t.Helper()
	needPackages(t)
	t.Parallel()
	for _, suite := range rig.Suites {
		t.Run(suite, func(t *testing.T) {
			t.Parallel()
			test(t, rig.Boot(t, suite, append(options, rig.Bind(made, "/srv/packages"))...))
		})
	}
}
