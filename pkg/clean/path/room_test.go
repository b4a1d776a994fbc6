package path

import (
	"context"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/residue"
)

// TestDeferRoom: a tenth has to be left, by the next job too if it takes as much
// as this one has; no limit is no lack; and what has other numbers after a boot
// is not left for a sweep.
func TestDeferRoom(t *testing.T) {
	before := func(free, inodes string) map[string]string {
		return map[string]string{factFree: free, factInodes: inodes}
	}
	for name, c := range map[string]struct {
		facts map[string]string
		fs    unix.Statfs_t
		want  bool
	}{
		"just enough":         {nil, unix.Statfs_t{Type: unix.EXT4_SUPER_MAGIC, Blocks: 100, Bavail: 10, Bfree: 15, Files: 100, Ffree: 10}, true},
		"only root's reserve": {nil, unix.Statfs_t{Type: unix.EXT4_SUPER_MAGIC, Blocks: 100, Bavail: 9, Bfree: 15, Files: 100, Ffree: 10}, false},
		"no inodes":           {nil, unix.Statfs_t{Type: unix.EXT4_SUPER_MAGIC, Blocks: 100, Bavail: 90, Files: 100, Ffree: 9}, false},
		"inodes as needed":    {nil, unix.Statfs_t{Type: unix.BTRFS_SUPER_MAGIC, Blocks: 100, Bavail: 90}, true},
		"FAT":                 {nil, unix.Statfs_t{Type: unix.MSDOS_SUPER_MAGIC, Blocks: 100, Bavail: 90}, false},
		"a FUSE":              {nil, unix.Statfs_t{Type: unix.FUSE_SUPER_MAGIC, Blocks: 100, Bavail: 90}, false},

		"as much again fits":    {before("80", "80"), unix.Statfs_t{Blocks: 100, Bavail: 45, Files: 100, Ffree: 45}, true},
		"as much again is all":  {before("80", "80"), unix.Statfs_t{Blocks: 100, Bavail: 44, Files: 100, Ffree: 45}, false},
		"inodes, likewise":      {before("80", "80"), unix.Statfs_t{Blocks: 100, Bavail: 45, Files: 100, Ffree: 44}, false},
		"more than all":         {before("100", "100"), unix.Statfs_t{Blocks: 100, Bavail: 20, Files: 100, Ffree: 90}, false},
		"others made room":      {before("20", "20"), unix.Statfs_t{Blocks: 100, Bavail: 30, Files: 100, Ffree: 30}, true},
		"a record that is none": {before("-5", "x"), unix.Statfs_t{Blocks: 100, Bavail: 10, Files: 100, Ffree: 10}, true},
	} {
		if c.fs.Bsize = 1; (&cleaner{facts: c.facts}).hasRoom(c.fs) != c.want {
			t.Errorf("%s: not %v", name, c.want)
		}
	}
}

// TestDeferNoRoomForTheNext: what arm saw free decides whether a job that took
// half of it may leave it to the sweep.
func TestDeferNoRoomForTheNext(t *testing.T) {
	for name, c := range map[string]struct {
		takes    int
		deferred bool
	}{"less than half": {20 << 20, true}, "more than half": {36 << 20, false}} {
		t.Run(name, func(t *testing.T) {
			needRoot(t)
			top := t.TempDir()
			if err := unix.Mount("tmpfs", top, "tmpfs", 0, "size=64m"); err != nil {
				t.Skipf("can't mount here: %v", err)
			}
			defer func() { _ = unix.Unmount(top, unix.MNT_DETACH) }()
			dir := top + "/job"
			armed := puttingOff(t, running(), dir, "Within="+top)
			facts, err := armed.Prepare(context.Background())
			must(t, err)
			must(t, os.Mkdir(dir, 0o755))
			must(t, os.WriteFile(dir+"/big", make([]byte, c.takes), 0o644))
			hook := puttingOff(t, running(), dir, "Within="+top)
			hook.facts = facts
			err = clean(hook)
			gone(t, dir)
			if c.deferred {
				wants(t, err, residue.Retry, residue.Deferred)
			} else {
				must(t, err)
			}
		})
	}
}
