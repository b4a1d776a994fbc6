package ledger

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTidy: what a crash leaves of a folder without a ledger goes, and nothing
// of one in which something may stand.
func TestTidy(t *testing.T) {
	tests := []struct {
		name  string
		files []string
		stays bool
	}{
		{"empty", nil, false},
		{"locks", []string{unitLock, appendLock}, false},
		{"one lock", []string{unitLock}, false},
		{"half a rewriting", []string{unitLock, appendLock, fresh}, false},
		{"a ledger", []string{appendLock, "one.jsonl"}, true},
		{"a damaged one", []string{appendLock, "one.damaged-1"}, true},
		{"somebody's", []string{appendLock, "notes"}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			base := t.TempDir()
			folder := filepath.Join(base, "root", "u.service")
			if err := os.MkdirAll(folder, 0o750); err != nil {
				t.Fatal(err)
			}
			for _, name := range test.files {
				if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := Root(base, -1).Tidy(t.Context(), "u.service"); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(folder); (err == nil) != test.stays {
				t.Errorf("the folder is there: %v", err == nil)
			}
			for _, name := range test.files {
				if _, err := os.Stat(filepath.Join(folder, name)); test.stays && err != nil {
					t.Error(err)
				}
			}
		})
	}
	if err := Root(t.TempDir(), -1).Tidy(t.Context(), "none.service"); err != nil {
		t.Error(err)
	}
}

// TestTidyLeavesWhatIsLocked: somebody settles the unit, and may write yet.
func TestTidyLeavesWhatIsLocked(t *testing.T) {
	s := Root(t.TempDir(), -1)
	release, err := s.LockUnit(t.Context(), "u.service")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Tidy(t.Context(), "u.service"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(s.base, "root", "u.service", unitLock)); err != nil {
		t.Error(err)
	}
	release()
}
