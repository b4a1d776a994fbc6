package test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// machinePath are folders that exist on somebody's machine only. The
// expression is written so that it does not match itself.
var machinePath = regexp.MustCompile(`(^|[\s"'=(:])/(?:work/(?:main|shared)|root/go|home/[a-z]+/go)\b`)

// eachFile calls do for every text file of the repository.
func eachFile(t *testing.T, do func(path string, text []byte)) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "build") {
			return filepath.SkipDir
		}
		if entry.Name() == ".git" { // of a worktree: a file that says where the repository is
			return nil
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil && bytes.IndexByte(text, 0) < 0 {
			do(path, text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestNoMachinePaths: what stands here is true on every machine.
func TestNoMachinePaths(t *testing.T) {
	eachFile(t, func(path string, text []byte) {
		if found := machinePath.Find(text); found != nil {
			t.Errorf("%s names %q", path, bytes.TrimSpace(found))
		}
	})
	if !machinePath.MatchString("cd /" + "work/main") {
		t.Error("the expression finds nothing")
	}
}

// TestFilesAreShort: a file is one thing.
func TestFilesAreShort(t *testing.T) {
	const limit = 300
	eachFile(t, func(path string, text []byte) {
		isSource := strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go")
		if lines := bytes.Count(text, []byte("\n")); isSource && lines > limit {
			t.Errorf("%s has %d lines, more than %d", path, lines, limit)
		}
	})
}
