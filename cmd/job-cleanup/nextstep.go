package main

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/ledger"
)

// lastResort is the next step where nothing better is known.
const lastResort = "job-cleanup help VERB tells what a verb takes, job-cleanup check UNIT what is wrong with a unit"

// hinted is an error of which the caller knows what to do about it.
type hinted struct {
	error
	hint string
}

// Hint says what to do next.
func (e hinted) Hint() string { return e.hint }

// Unwrap returns the error itself.
func (e hinted) Unwrap() error { return e.error }

// unreadJournal is the error of a journal that journalctl did not read.
func unreadJournal(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return hinted{err, "without journalctl there is no history; job-cleanup status shows what is owed"}
	}
	return hinted{err, "times are written as in systemd.time(7): --since yesterday, --until 06:00"}
}

// nextStep is what to do about an error: what it says itself, else what its
// cause asks for.
func (p *program) nextStep(err error) string {
	var own interface{ Hint() string }
	if errors.As(err, &own) && own.Hint() != "" {
		return own.Hint()
	}
	path := "the place"
	var at *fs.PathError
	if errors.As(err, &at) {
		path = at.Path
	}
	switch {
	case errors.Is(err, fs.ErrPermission) && p.uid == 0:
		return "a sandbox may forbid it to root too; job-cleanup check UNIT tells what to write into the unit"
	case errors.Is(err, fs.ErrPermission):
		return "run it as root, or name a place of your own"
	case errors.Is(err, unix.EROFS):
		return "in a unit write ReadWritePaths=-" + systemState + " -" + systemRuntime + "; else name another place"
	case errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT):
		return "df -h " + path + " shows how full it is; make room, or name another place"
	case errors.Is(err, fs.ErrNotExist):
		return "mkdir -p " + filepath.Dir(path) + " makes its folder; or name a file that is there"
	case errors.Is(err, unix.ENOTDIR):
		return "ls -ld " + path + " shows what stands where a folder should be; name a folder"
	case errors.Is(err, unix.EISDIR):
		return path + " is a folder; name a file"
	case errors.Is(err, ledger.ErrUntrusted):
		return "find out who made it, then move it away; job-cleanup sweep does the rest"
	case errors.Is(err, ledger.ErrBusy) || errors.Is(err, context.DeadlineExceeded):
		return "somebody else is at it, or it hangs; try again in a while"
	}
	return lastResort
}
