package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"job-cleanup/pkg/unitfile"
)

// checkFile checks one file and returns the exit code and what was found.
func checkFile(t *testing.T, path string) (int, []finding) {
	t.Helper()
	var out, complaints strings.Builder
	p := &program{args: []string{"check", "--json", path}, env: environment{}, stdout: &out, stderr: &complaints}
	code := p.run(context.Background())
	if complaints.Len() > 0 {
		t.Errorf("%s: %s", path, complaints.String())
	}
	var found []finding
	for line := range strings.Lines(out.String()) {
		var f finding
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		found = append(found, f)
	}
	return code, found
}

// fixtures are the files testdata/check/CHECK[.WHAT].{bad,good}.TYPE.
func fixtures(t *testing.T, which string) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/check/*." + which + ".*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	return files
}

// TestCheckFires: each bad unit has the one fault that its name says, at a
// line of the file, with a fix; errors alone make the exit code.
func TestCheckFires(t *testing.T) {
	for _, file := range fixtures(t, "bad") {
		name, _, _ := strings.Cut(filepath.Base(file), ".")
		code, found := checkFile(t, file)
		if len(found) != 1 || found[0].Check != name || found[0].File != file || found[0].Line == 0 || found[0].Text == "" || found[0].Fix == "" {
			t.Errorf("%s: %+v", file, found)
			continue
		}
		if failed := found[0].Severity == unitfile.Err; failed != (code == exitOwed) {
			t.Errorf("%s: exit code %d of an %s", file, code, found[0].Severity)
		}
	}
}

// TestCheckIsSilent: the same units with the fault mended, and all that is
// shipped.
func TestCheckIsSilent(t *testing.T) {
	files := fixtures(t, "good")
	for _, pattern := range []string{"*.service", "examples/*.service", "user/*.service"} {
		shipped, err := filepath.Glob("../../units/" + pattern)
		if err != nil || len(shipped) == 0 {
			t.Fatalf("no unit %q: %v", pattern, err)
		}
		files = append(files, shipped...)
	}
	for _, file := range files {
		if code, found := checkFile(t, file); code != 0 || len(found) > 0 {
			t.Errorf("%s: exit code %d, %+v", file, code, found)
		}
	}
}

// TestCheckHasFixtures: every check of the table has both, and a line on the
// page.
func TestCheckHasFixtures(t *testing.T) {
	page, err := os.ReadFile("../../docs/check.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range append(unitfile.Checks(), "plan") {
		for _, which := range []string{"bad", "good"} {
			has := func(file string) bool { return strings.HasPrefix(filepath.Base(file), id+".") }
			if !slices.ContainsFunc(fixtures(t, which), has) {
				t.Errorf("%s has no %s unit", id, which)
			}
		}
		if !strings.Contains(string(page), "| `"+id+"` |") {
			t.Errorf("%s is not on the page", id)
		}
	}
}
