package lockfile

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/beneath"
	"job-cleanup/pkg/residue"
)

// meant checks that the path means to us what it meant to the job. Gone means
// that the tree went with the unit.
func (c *cleaner) meant(proven bool) error {
	return beneath.Place{Job: c.job, Path: c.path}.Meant(proven)
}

// absent says what it means that the path does not exist: that the lock is
// gone, if we can see the place where it was.
func (c *cleaner) absent(proof map[string]string) error {
	if err := (beneath.Place{Job: c.job, Path: c.path}).Seen(); err != nil {
		return err
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
	now, err := beneath.Nearest(c.path)
	if err != nil {
		return failed(err, "look at the place of %q", c.path)
	}
	if now.Mount == want["mount"] || now.Dev == want["dev"] && boot == want["boot"] {
		return residue.ErrGone
	}
	return residue.Errorf(residue.Retry, residue.Changed, "%q is not there, but neither is the file system that held it", c.path)
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
