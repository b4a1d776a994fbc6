package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	if got, want := s.ordered(st.Dev), fs.Type == unix.XFS_SUPER_MAGIC || fs.Type == unix.EXT4_SUPER_MAGIC && journalled(t, st.Dev); got != want {
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

// journalled asks the driver of ext4 whether a file system of its has a journal.
func journalled(t *testing.T, dev uint64) bool {
	t.Helper()
	link, err := os.Readlink(fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(dev), unix.Minor(dev)))
	if err != nil {
		t.Skip("the disk has no name here")
	}
	task, err := os.ReadFile(filepath.Join("/sys/fs/ext4", filepath.Base(link), "journal_task"))
	if err != nil {
		t.Skip("ext4 tells nothing here")
	}
	return strings.TrimSpace(string(task)) != "<none>"
}

// TestOneLog: ext2, and ext4 without a journal, write in no order. The number of
// their kind is the same.
func TestOneLog(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"sys/dev/block", "proc/fs/jbd2/sda1-8", "proc/fs/jbd2/dm-10-8"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for minor, name := range []string{"sda", "sda1", "dm-1", "dm-10"} {
		link := filepath.Join(root, "sys/dev/block", fmt.Sprintf("8:%d", minor))
		if err := os.Symlink("../../devices/block/"+name, link); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		kind  int64
		minor uint32
		want  bool
	}{
		{unix.EXT4_SUPER_MAGIC, 0, false},
		{unix.EXT4_SUPER_MAGIC, 1, true},
		{unix.EXT4_SUPER_MAGIC, 2, false},
		{unix.EXT4_SUPER_MAGIC, 3, true},
		{unix.EXT4_SUPER_MAGIC, 4, false},
		{unix.XFS_SUPER_MAGIC, 4, true},
		{unix.BTRFS_SUPER_MAGIC, 1, false},
	} {
		if got := oneLog(root, tt.kind, unix.Mkdev(8, tt.minor)); got != tt.want {
			t.Errorf("type %#x on 8:%d: %v", tt.kind, tt.minor, got)
		}
	}
}
