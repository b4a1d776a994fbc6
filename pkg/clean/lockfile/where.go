package lockfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/beneath"
	"job-cleanup/pkg/residue"
)

// hidden is the deepest part of the job's sandbox that the path lies in.
func (c *cleaner) hidden() residue.HiddenHow {
	var deepest residue.Hidden
	for _, h := range c.job.Sandbox {
		in := c.path == h.Path || strings.HasPrefix(c.path, strings.TrimSuffix(h.Path, "/")+"/")
		if in && len(h.Path) > len(deepest.Path) {
			deepest = h
		}
	}
	return deepest.How
}

// meant checks that the path means to us what it meant to the job. Gone means
// that the tree went with the unit.
func (c *cleaner) meant(proven bool) error {
	if !c.job.Outside {
		return nil
	}
	switch how := c.hidden(); {
	case how == residue.Private:
		return residue.ErrGone
	case how != "" && !proven:
		return residue.Errorf(residue.Retry, residue.Changed, "%q is another one outside of the job's sandbox", c.path)
	}
	return nil
}

// absent says what it means that the path does not exist: that the lock is
// gone, if we can see the place where it was.
func (c *cleaner) absent(proof map[string]string) error {
	switch how := c.hidden(); {
	case how == residue.Masked && !c.job.Outside:
		return residue.Errorf(residue.Retry, residue.Permission, "%q is hidden from us by the job's sandbox", c.path)
	case how == residue.Elsewhere && c.job.Outside:
		return residue.Errorf(residue.Retry, residue.Changed, "%q is another one outside of the job's sandbox", c.path)
	}
	want := proof
	if want["mount"] == "" {
		want = c.spec.Facts
	}
	if want["mount"] == "" {
		return residue.ErrGone
	}
	boot, err := c.machine.boot()
	if err != nil {
		return residue.Errorf(residue.Retry, residue.Other, "read the boot id: %w", err)
	}
	now, err := nearest(c.path)
	if err != nil {
		return failed(err, "look at the place of %q", c.path)
	}
	if now.mount == want["mount"] || now.dev == want["dev"] && boot == want["boot"] {
		return residue.ErrGone
	}
	return residue.Errorf(residue.Retry, residue.Changed, "%q is not there, but neither is the file system that held it", c.path)
}

// spot is the nearest existing ancestor of a path.
type spot struct{ dev, mount string }

// nearest opens ancestors of path until one exists.
func nearest(path string) (spot, error) {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.ENOENT) && dir != "/" {
			continue
		}
		if err != nil {
			return spot{}, err
		}
		defer unix.Close(fd)
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return spot{}, err
		}
		mount, err := beneath.Mount(fd)
		return spot{strconv.FormatUint(st.Dev, 10), mountPoint(mount)}, err
	}
}

// mountPoint is where the mount of that id hangs, escaped as in
// /proc/self/mountinfo; "" when it is not known.
func mountPoint(id uint64) string {
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

// failed is the *Error for what a file system answered. What is one already
// stays as it is.
func failed(err error, format string, args ...any) error {
	var known *residue.Error
	if errors.As(err, &known) {
		return known
	}
	e := residue.Errorf(residue.Retry, residue.Other, format+": %w", append(args, err)...)
	switch {
	case errors.Is(err, unix.ELOOP):
		e.Class, e.Reason = residue.Refused, residue.OutsideBase
	case errors.Is(err, unix.EXDEV):
		e.Reason = residue.MountPoint
		e.Err = fmt.Errorf("%w (a mount lies between; name it with Within=)", e.Err)
	case errors.Is(err, unix.EBUSY):
		e.Reason = residue.MountPoint
	case errors.Is(err, unix.EROFS):
		e.Reason = residue.Immutable
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		e.Reason = residue.Permission
	}
	return e
}
