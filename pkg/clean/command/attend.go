package command

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/residue"
)

// limits is the time that one run of a command has.
type limits struct {
	run    time.Duration  // until SIGTERM
	grace  time.Duration  // from there to SIGKILL
	reason residue.Reason // what it means that run is over
}

// bounds divides the time. A command has to be dead before the context ends,
// because the caller may leave then; so it is stopped a little earlier.
func bounds(ctx context.Context, limit time.Duration) limits {
	l := limits{run: limit, grace: grace, reason: residue.Timeout}
	deadline, ok := ctx.Deadline()
	if !ok {
		return l
	}
	left := time.Until(deadline)
	l.grace = min(grace, left/5)
	if spare := left - l.grace - min(hurry, left/20); spare < l.run {
		l.run = spare
	}
	if left < limit-time.Second { // not the step's own limit
		l.reason = residue.Deadline
	}
	return l
}

// attend waits until the process has ended, or ends it, and kills what is left
// of its group. It returns why the process was stopped, "" if it was not. The
// process is not reaped: till then its number, which is the group's, can't be
// given to another one.
func attend(ctx context.Context, pid int, l limits) residue.Reason {
	over := make(chan struct{})
	go func() {
		defer close(over)
		for errors.Is(unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
			continue
		}
	}()
	stopped := supervise(ctx, over, pid, l)
	_ = unix.Kill(-pid, unix.SIGKILL)
	<-over
	return stopped
}

// supervise returns when the process has ended or has to be killed.
func supervise(ctx context.Context, over <-chan struct{}, pid int, l limits) residue.Reason {
	limit := time.NewTimer(l.run)
	defer limit.Stop()
	var stopped residue.Reason
	patience := l.grace
	select {
	case <-over:
		return ""
	case <-limit.C:
		stopped = l.reason
	case <-ctx.Done():
		stopped, patience = why(ctx.Err()), min(hurry, l.grace)
	}
	_ = unix.Kill(-pid, unix.SIGTERM)
	kill := time.NewTimer(patience)
	defer kill.Stop()
	select {
	case <-over:
	case <-kill.C:
	}
	return stopped
}
