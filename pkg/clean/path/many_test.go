package path

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"job-cleanup/pkg/residue"
)

// TestManyMatches: a pattern that anybody made match more names than are taken
// at once finds some, and stays owed for the rest.
func TestManyMatches(t *testing.T) {
	dir := t.TempDir()
	for i := range 30 {
		build(t, dir, fmt.Sprintf("x-%02d", i))
	}
	build(t, dir, "other")
	c := with(t, running(), residue.Job{}, filepath.Join(dir, "x-*"))
	c.most = 20
	found, err := c.Find(t.Context())
	if len(found) != 20 {
		t.Errorf("found %d", len(found))
	}
	wants(t, err, residue.Retry, residue.Other)
	for _, r := range found {
		must(t, c.Remove(t.Context(), r))
	}
	if found, err = c.Find(t.Context()); len(found) != 10 || err != nil {
		t.Errorf("then found %d, %v", len(found), err)
	}
}

// TestGoneIsTold: who waits for a large tree is told how much of it is gone.
func TestGoneIsTold(t *testing.T) {
	dir := t.TempDir()
	for i := range 40 {
		build(t, dir, fmt.Sprintf("tree/%d/file", i))
	}
	var told atomic.Int64
	c := with(t, running(), residue.Job{}, filepath.Join(dir, "tree"))
	c.went = func(n int64) { told.Add(n) }
	must(t, clean(c))
	if told.Load() != 81 {
		t.Errorf("told of %d entries, want 81", told.Load())
	}
}
