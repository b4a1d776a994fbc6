package aws

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/beneath"
	"job-cleanup/pkg/residue"
)

// Prepare records where the file lies, so that a home that is not mounted later
// is not taken for one without a session.
func (c *cleaner) Prepare(context.Context) (map[string]string, error) {
	at, err := nearest(c.path)
	if err != nil {
		return nil, residue.Errorf(residue.Retry, residue.Other, "look at the place of %q: %w", c.path, err)
	}
	return map[string]string{onMount: at}, nil
}

// hidden is the deepest part of the job's sandbox that the file lies in.
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

// meant checks that the path means to us what it meant to the job. A private
// tree has gone with the unit; elsewhere only a recorded key tells that it is
// the same file.
func (c *cleaner) meant(proof map[string]string) error {
	if !c.job.Outside {
		return nil
	}
	switch how := c.hidden(); {
	case how == residue.Private:
		return residue.ErrGone
	case how != "" && proof[keyID] == "" && c.spec.Option("AccessKeyID") == "":
		return residue.Errorf(residue.Retry, residue.Changed, "%q is another one outside of the job's sandbox", c.path)
	}
	return nil
}

// absent says what it means that the file is not there.
func (c *cleaner) absent(proof map[string]string) error {
	switch how := c.hidden(); {
	case how == residue.Masked && !c.job.Outside:
		return residue.Errorf(residue.Retry, residue.Permission, "%q is hidden from us by the job's sandbox", c.path)
	case how == residue.Elsewhere && c.job.Outside:
		return residue.Errorf(residue.Retry, residue.Changed, "%q is another one outside of the job's sandbox", c.path)
	}
	want := proof[onMount]
	if want == "" {
		want = c.spec.Facts[onMount]
	}
	if want == "" {
		return residue.ErrGone
	}
	if now, err := nearest(c.path); err != nil || now != want {
		return residue.Errorf(residue.Retry, residue.Changed, "%q is not there, but neither is the file system that held it", c.path)
	}
	return residue.ErrGone
}

// nearest is where the file system of the nearest existing ancestor hangs.
func nearest(path string) (string, error) {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.ENOENT) && dir != "/" {
			continue
		}
		if err != nil {
			return "", err
		}
		defer unix.Close(fd)
		id, err := beneath.Mount(fd)
		return mountPoint(id), err
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

// failed is the *Error for what the kernel answered. What is one already stays
// as it is, and what is missing is judged by its place.
func (c *cleaner) failed(err error, proof map[string]string, doing string) error {
	var known *residue.Error
	if errors.As(err, &known) {
		return known
	}
	if errors.Is(err, unix.ENOENT) {
		return c.absent(proof)
	}
	e := residue.Errorf(residue.Retry, residue.Other, "%s %q: %w", doing, c.path, err)
	switch {
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR):
		e.Class, e.Reason = residue.Refused, residue.OutsideBase
	case errors.Is(err, unix.EXDEV), errors.Is(err, unix.EBUSY):
		e.Reason = residue.MountPoint
	case errors.Is(err, unix.EROFS):
		e.Reason = residue.Immutable
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		e.Reason = residue.Permission
	}
	return e
}
