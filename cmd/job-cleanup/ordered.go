package main

import "golang.org/x/sys/unix"

// oneLog are the file systems that write all their changes in one order: what
// was removed is gone for good when a later line of the ledger is on the disk.
// Others, btrfs for one, may write that line alone.
var oneLog = map[int64]bool{unix.EXT4_SUPER_MAGIC: true, unix.XFS_SUPER_MAGIC: true}

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
		if unix.Statfs(folder, &fs) != nil || !oneLog[fs.Type] || dev != 0 && dev != st.Dev {
			return 0
		}
		dev = st.Dev
	}
	return dev
}
