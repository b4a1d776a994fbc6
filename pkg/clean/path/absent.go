package path

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/residue"
)

// Keys of the facts that Prepare records, beside proofMount and proofBoot.
const (
	factType = "fstype" // statfs magic, hexadecimal
	factID   = "fsid"   // statfs id of the file system, hexadecimal
	factView = "view"   // "outside": seen from outside of the unit's sandbox
)

// hidden tells how the sandbox hides a path, "" when it means the same inside
// and outside.
func hidden(job residue.Job, path string) residue.HiddenHow {
	how, depth := residue.HiddenHow(""), -1
	for _, h := range job.Sandbox {
		if _, ok := below(path, h.Path); ok && len(h.Path) > depth {
			how, depth = h.How, len(h.Path)
		}
	}
	return how
}

// fileSystem writes down which file system a folder lies on.
func (c *cleaner) fileSystem(dir int, all mounts) map[string]string {
	out := map[string]string{}
	if id, err := c.k.mountID(dir); err == nil {
		if point := all.point(id); point != "" {
			out[proofMount] = point
		}
	}
	var st unix.Statfs_t
	if unix.Fstatfs(dir, &st) == nil {
		out[factType] = strconv.FormatUint(uint64(st.Type), 16)
		id := uint64(uint32(st.Fsid.Val[0]))<<32 | uint64(uint32(st.Fsid.Val[1]))
		if id != 0 && st.Type != unix.TMPFS_MAGIC { // a new tmpfs has lost what the old one held
			out[factID] = strconv.FormatUint(id, 16)
		}
	}
	if boot := bootID(); boot != "" {
		out[proofBoot] = boot
	}
	if c.job.Outside {
		out[factView] = "outside"
	}
	return out
}

// absent is nil when it is proven that path, which was not found in the
// folder dir, is gone, and not merely out of sight. recorded are facts or a
// proof from the time when it was there.
func (c *cleaner) absent(dir int, path string, recorded map[string]string) error {
	how := hidden(c.job, path)
	switch {
	case how == residue.Masked && !c.job.Outside:
		return residue.Errorf(residue.Retry, residue.Permission, "%q is hidden from us by the unit's sandbox", path)
	case how == residue.Elsewhere && c.job.Outside:
		return residue.Errorf(residue.Retry, residue.Changed, "%q is another one outside of the unit's sandbox", path)
	}
	all, err := readMounts(c.k.mountinfo)
	if err != nil {
		return residue.Errorf(residue.Retry, residue.Other, "%q is not there, but may be on a file system that is not mounted: %w", path, err)
	}
	if id, err := c.k.mountID(dir); err == nil && strings.Contains(all[id].root, "/systemd/inaccessible/") {
		return residue.Errorf(residue.Retry, residue.Permission, "%q is hidden from us by a sandbox", path)
	}
	now := c.fileSystem(dir, all)
	if how == "" && recorded[proofMount] != "" {
		return sameFileSystem(path, recorded, now)
	}
	return c.expected(path, now[proofMount], all)
}

// sameFileSystem compares where path was with where it is missed.
func sameFileSystem(path string, was, now map[string]string) error {
	if was[proofMount] != now[proofMount] {
		return residue.Errorf(residue.Retry, residue.Changed, "%q is not there, but neither is the file system that held it, at %q", path, was[proofMount])
	}
	differs := func(key string) bool { return was[key] != "" && now[key] != "" && was[key] != now[key] }
	// The id of some file systems is a device number, which holds for one boot.
	if differs(factType) || differs(factID) && !differs(proofBoot) {
		return residue.Errorf(residue.Retry, residue.Changed, "%q is not there, but another file system is mounted at %q", path, was[proofMount])
	}
	return nil
}

// expected looks for a file system that the machine's own table puts above
// path and that is not mounted.
func (c *cleaner) expected(path, point string, all mounts) error {
	text, err := os.ReadFile(c.k.fstab)
	if err != nil {
		return nil // no table, nothing to expect
	}
	mounted := map[string]bool{}
	for _, m := range all {
		mounted[m.point] = true
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 3 || strings.HasPrefix(fields[0], "#") || fields[2] == "swap" {
			continue
		}
		at := "/" + strings.Trim(unescape(fields[1]), "/")
		if len(fields) > 3 && strings.Contains(","+fields[3]+",", ",noauto,") {
			continue
		}
		if _, ok := below(path, at); ok && !mounted[at] && len(at) > len(point) {
			return residue.Errorf(residue.Retry, residue.Changed, "%q is not there, but neither is the file system that belongs at %q", path, at)
		}
	}
	return nil
}
