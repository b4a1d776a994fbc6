package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ordered implements residue.Deps: the device is that of the ledgers, and its
// file system has one log.
func (s *site) ordered(dev uint64) bool {
	s.ledgerDisk.Do(func() { s.ledgerDev = diskOf(s.state, s.shared) })
	return s.ledgerDev != 0 && dev == s.ledgerDev
}

// diskOf is the device of folders, of those that are there; 0 when they lie on
// several, or on one without one log. The hook of a plain user may write to its
// own ledger or to the one that it was given.
func diskOf(folders ...string) (dev uint64) {
	for _, folder := range folders {
		var st unix.Stat_t
		var fs unix.Statfs_t
		if unix.Stat(folder, &st) != nil {
			continue
		}
		if unix.Statfs(folder, &fs) != nil || !oneLog("/", fs.Type, st.Dev) || dev != 0 && dev != st.Dev {
			return 0
		}
		dev = st.Dev
	}
	return dev
}

// oneLog reports whether a file system writes all its changes in one order: what
// was removed is gone for good when a later line of the ledger is on the disk.
// Others, btrfs for one, may write that line alone, and so does an ext4 that was
// made without a journal, or ext2, which has the same number.
func oneLog(root string, kind int64, dev uint64) bool {
	return kind == unix.XFS_SUPER_MAGIC || kind == unix.EXT4_SUPER_MAGIC && hasJournal(root, dev)
}

// hasJournal looks for the journal that the kernel keeps for a device, which it
// lists by the name of the device and an inode: sda1-8.
func hasJournal(root string, dev uint64) bool {
	name, err := os.Readlink(filepath.Join(root, "sys/dev/block", fmt.Sprintf("%d:%d", unix.Major(dev), unix.Minor(dev))))
	if err != nil {
		return false
	}
	journals, _ := os.ReadDir(filepath.Join(root, "proc/fs/jbd2"))
	for _, journal := range journals {
		inode, of := strings.CutPrefix(journal.Name(), filepath.Base(name)+"-")
		if _, err := strconv.ParseUint(inode, 10, 64); of && err == nil {
			return true
		}
	}
	return false
}
