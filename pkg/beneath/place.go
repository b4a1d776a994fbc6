package beneath

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/residue"
)

// Place is a path as a job meant it, which may not be what it means to us:
// either of us may stand in a sandbox.
type Place struct {
	Job  residue.Job
	Path string // absolute and clean
}

// hidden is the deepest part of the job's sandbox that the path lies in.
func (p Place) hidden() residue.HiddenHow {
	var deepest residue.Hidden
	for _, h := range p.Job.Sandbox {
		in := p.Path == h.Path || strings.HasPrefix(p.Path, strings.TrimSuffix(h.Path, "/")+"/")
		if in && len(h.Path) > len(deepest.Path) {
			deepest = h
		}
	}
	return deepest.How
}

// Meant is nil when the path means to us what it meant to the job. A private
// tree has gone with the unit, which is residue.ErrGone; in another one only a
// proof of identity tells that a file is the same.
func (p Place) Meant(proven bool) error {
	if !p.Job.Outside {
		return nil
	}
	switch how := p.hidden(); {
	case how == residue.Private:
		return residue.ErrGone
	case how != "" && !proven:
		return p.another()
	}
	return nil
}

// Seen is nil when we would see the file if it were there: only then is its
// absence a proof.
func (p Place) Seen() error {
	switch how := p.hidden(); {
	case how == residue.Masked && !p.Job.Outside:
		return residue.Errorf(residue.Retry, residue.Permission, "%q is hidden from us by the job's sandbox", p.Path)
	case how == residue.Elsewhere && p.Job.Outside:
		return p.another()
	}
	return nil
}

func (p Place) another() error {
	return residue.Errorf(residue.Retry, residue.Changed, "%q is another one outside of the job's sandbox", p.Path)
}

// Spot is where a folder lies.
type Spot struct {
	Dev   string // its device's number
	Mount string // where its file system hangs; see MountPoint
}

// Nearest is the spot of the nearest folder above path that is there.
func Nearest(path string) (Spot, error) {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		fd, err := unix.Open(dir, pathFlags, 0)
		if errors.Is(err, unix.ENOENT) && dir != "/" {
			continue
		}
		if err != nil {
			return Spot{}, err
		}
		defer unix.Close(fd)
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return Spot{}, err
		}
		mount, err := Mount(fd)
		return Spot{strconv.FormatUint(st.Dev, 10), MountPoint(mount)}, err
	}
}

// MountPoint is where the mount of that id hangs, escaped as in
// /proc/self/mountinfo; "" when it is not known.
func MountPoint(id uint64) string {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	for line := range strings.SplitSeq(string(table), "\n") {
		if fields := strings.Fields(line); len(fields) > 4 && fields[0] == strconv.FormatUint(id, 10) {
			return fields[4]
		}
	}
	return ""
}
