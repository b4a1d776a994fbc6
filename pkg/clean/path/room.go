package path

import (
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// Keys of the facts that Prepare records of a file system where something may
// have to wait for a sweep. Numbers are decimal.
const (
	factFree   = "free"   // bytes for users
	factInodes = "inodes" // free ones
)

// roomDivisor is the part of a disk, and of its inodes, that has to stay free
// when a removal is put off.
const roomDivisor = 10

// numbering are file systems that number their files anew each time they are
// mounted, or as another machine likes. What waited there for a sweep would be
// taken for somebody else's after a boot, and stay for ever.
var numbering = []int64{
	unix.MSDOS_SUPER_MAGIC, unix.EXFAT_SUPER_MAGIC, unix.FUSE_SUPER_MAGIC, unix.V9FS_MAGIC,
	unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC,
}

// room writes down what is free before the job.
func room(dir int, out map[string]string) {
	var fs unix.Statfs_t
	if unix.Fstatfs(dir, &fs) == nil {
		out[factFree] = strconv.FormatUint(fs.Bavail*uint64(fs.Bsize), 10)
		out[factInodes] = strconv.FormatUint(fs.Ffree, 10)
	}
}

// hasRoom reports whether a tree may stay on a file system until a sweep comes.
// How big it is nobody knows without counting it, which would take as long as
// the sweep's work. But what is free now, and what was before the job, tells
// what the next one may need. A file system without a limit tells none.
func (c *cleaner) hasRoom(fs unix.Statfs_t) bool {
	block := uint64(fs.Bsize)
	return !slices.Contains(numbering, int64(fs.Type)) &&
		spare(fs.Bavail*block, c.facts[factFree]) >= fs.Blocks*block/roomDivisor &&
		spare(fs.Ffree, c.facts[factInodes]) >= fs.Files/roomDivisor
}

// spare is what would be left if the next job took as much as was taken since
// before. Where that was not recorded, what is free now.
func spare(free uint64, before string) uint64 {
	was, err := strconv.ParseUint(before, 10, 64)
	if err != nil || was <= free {
		return free
	}
	return free - min(free, was-free)
}
