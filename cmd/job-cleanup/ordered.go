package main

import "golang.org/x/sys/unix"

// oneLog are the file systems that write all their changes in one order: what
// was removed is gone for good when a later line of the ledger is on the disk.
// Others, btrfs for one, may write that line alone.
var oneLog = map[int64]bool{unix.EXT4_SUPER_MAGIC: true, unix.XFS_SUPER_MAGIC: true}

// ordered implements residue.Deps: the device is that of the ledgers, and its
// file system has one log.
func (s *site) ordered(dev uint64) bool {
	s.ledgerDisk.Do(func() {
		var st unix.Stat_t
		var fs unix.Statfs_t
		dir := s.state
		if s.uid == 0 {
			dir = s.shared
		}
		if unix.Stat(dir, &st) == nil && unix.Statfs(dir, &fs) == nil && oneLog[fs.Type] {
			s.ledgerDev = st.Dev
		}
	})
	return s.ledgerDev != 0 && dev == s.ledgerDev
}
