package aws

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/beneath"
	"job-cleanup/pkg/residue"
)

// Prepare records where the file lies, so that a home that is not mounted later
// is not taken for one without a session.
func (c *cleaner) Prepare(context.Context) (map[string]string, error) {
	at, err := beneath.Nearest(c.path)
	if err != nil {
		return nil, residue.Errorf(residue.Retry, residue.Other, "look at the place of %q: %w", c.path, err)
	}
	return map[string]string{onMount: at.Mount}, nil
}

// meant checks that the path means to us what it meant to the job. A recorded
// key tells that it is the same file.
func (c *cleaner) meant(proof map[string]string) error {
	return beneath.Place{Job: c.job, Path: c.path}.Meant(proof[keyID] != "" || c.spec.Option("AccessKeyID") != "")
}

// absent says what it means that the file is not there.
func (c *cleaner) absent(proof map[string]string) error {
	if err := (beneath.Place{Job: c.job, Path: c.path}).Seen(); err != nil {
		return err
	}
	want := proof[onMount]
	if want == "" {
		want = c.spec.Facts[onMount]
	}
	if want == "" {
		return residue.ErrGone
	}
	if now, err := beneath.Nearest(c.path); err != nil || now.Mount != want {
		return residue.Errorf(residue.Retry, residue.Changed, "%q is not there, but neither is the file system that held it", c.path)
	}
	return residue.ErrGone
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
