package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"job-cleanup/pkg/ledger"
)

// TestStatusDamaged: a line that can't be read is never taken for nothing owed.
func TestStatusDamaged(t *testing.T) {
	state := t.TempDir()
	owes(t, state, "torn", ledger.Job{})
	err := filepath.WalkDir(state, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".jsonl" {
			return err
		}
		return os.WriteFile(path, []byte("garbage{\n"), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("job-cleanup", "status", "--state-dir", state).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "line 1 of its ledger, which can't be read") {
		t.Errorf("%v\n%s", err, out)
	}
}
