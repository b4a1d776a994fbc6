package main

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOrdered: only changes on the ledger's own disk come in one order with it,
// and only where the file system has one log. What follows from that, power has
// to fail to show; see test/vm.
func TestOrdered(t *testing.T) {
	dir, err := os.MkdirTemp("/var/tmp", "job-cleanup-ordered-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	var st unix.Stat_t
	var fs unix.Statfs_t
	if err := unix.Stat(dir, &st); err != nil {
		t.Fatal(err)
	}
	if err := unix.Statfs(dir, &fs); err != nil {
		t.Fatal(err)
	}
	s := &site{program: &program{}, opts: &options{}, state: dir, shared: dir + "/missing"}
	if got, want := s.ordered(st.Dev), oneLog[fs.Type]; got != want {
		t.Errorf("on the ledger's disk, of type %#x: %v, want %v", fs.Type, got, want)
	}
	if s.ordered(st.Dev + 1) {
		t.Error("another disk is in order with the ledger's")
	}
	for _, folders := range [][]string{{dir + "/missing", ""}, {dir, "/proc"}, {"/proc", dir}} {
		none := &site{program: &program{}, opts: &options{}, state: folders[0], shared: folders[1]}
		if none.ordered(0) || none.ordered(st.Dev) {
			t.Errorf("a disk is in order with ledgers in %q", folders)
		}
	}
}
