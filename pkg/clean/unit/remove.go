package unit

import (
	"context"
	"errors"
	"time"

	"job-cleanup/pkg/manager"
	"job-cleanup/pkg/residue"
)

// Remove stops or resets the unit if it is still in the recorded invocation.
// An intent, without one, is looked up by name first.
func (c *cleaner) Remove(ctx context.Context, r residue.Residue) error {
	if err := c.names.check(r.Ref); err != nil {
		return c.refusal(err)
	}
	if r.Type != typeRunning && r.Type != typeFailed {
		return residue.Errorf(residue.Refused, residue.Protected, "%q is no residue of this kind", r.Type)
	}
	return answer(ctx, c.connected(ctx, func(conn *manager.Conn) error {
		invocation := r.Proof[proofInvocation]
		if invocation == "" {
			u, err := conn.Unit(ctx, r.Ref)
			if err == nil {
				err = c.ours(u)
			}
			if err != nil {
				return err
			}
			r.Ref, invocation = u.Name, u.Invocation
		}
		return c.end(ctx, conn, r, invocation)
	}))
}

func (c *cleaner) end(ctx context.Context, conn *manager.Conn, r residue.Residue, invocation string) error {
	if r.Type == typeFailed {
		return conn.ResetFailed(ctx, r.Ref, invocation)
	}
	ctx, cancel := earlier(ctx)
	defer cancel()
	return conn.Stop(ctx, r.Ref, invocation)
}

// earlier ends a little before ctx does: a unit that is slow to stop must not
// look like a bus that does not answer.
func earlier(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, end.Add(-min(time.Second, time.Until(end)/10)))
}

// answer makes an *residue.Error of what a manager's client says.
func answer(ctx context.Context, err error) error {
	var own *residue.Error
	if err == nil || errors.As(err, &own) {
		return err
	}
	class, reason := residue.Retry, residue.Other
	switch {
	case errors.Is(err, manager.ErrOver), errors.Is(err, manager.ErrNotLoaded):
		class, reason = residue.Gone, residue.ErrGone.Reason
	case errors.Is(err, manager.ErrChanged):
		class, reason = residue.Lost, residue.Changed
	case errors.Is(err, manager.ErrDenied):
		reason = residue.Permission
	case errors.Is(ctx.Err(), context.Canceled):
		reason = residue.Cancelled
	case errors.Is(err, manager.ErrRunning):
		reason = residue.Timeout
	case errors.Is(err, manager.ErrUnreachable) && errors.Is(err, context.DeadlineExceeded):
		class, reason = residue.Unreachable, residue.Timeout
	case errors.Is(err, manager.ErrUnreachable):
		class, reason = residue.Unreachable, residue.NoAnswer
	}
	return &residue.Error{Class: class, Reason: reason, Err: err}
}

// worst is the one error that stands for all: a refusal is shown, the others
// only say that not all is known. What is refused does not keep the rest from
// being found.
func worst(doubts []error) error {
	if len(doubts) == 0 {
		return nil
	}
	all := errors.Join(doubts...)
	for _, doubt := range doubts {
		if e := residue.AsError(doubt); e.Class != residue.Refused {
			return &residue.Error{Class: e.Class, Reason: e.Reason, Err: all}
		}
	}
	return &residue.Error{Class: residue.Refused, Reason: residue.Protected, Err: all}
}
