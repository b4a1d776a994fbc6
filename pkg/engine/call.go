package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"job-cleanup/pkg/residue"
)

// settle is how long a call whose context ended may take to come back before
// it is abandoned: a file system or a client that hangs must not hang us.
const settle = 500 * time.Millisecond

// abandoned marks the error of a call that never came back.
const abandoned residue.Reason = "abandoned"

// notTried is the cause inside the errors of calls that were never made.
type notTried struct{ error }

func neverTried(err error) bool {
	var n notTried
	return errors.As(err, &n)
}

// caller makes the calls of one task, each within its bounds.
type caller struct {
	engine   *Engine
	ctx      context.Context
	drain    <-chan struct{}
	endpoint string
}

// call waits for the endpoint and for a free place, then calls do. It answers
// how long do took and why it failed.
func (c caller) call(do func(context.Context) error) (took time.Duration, err error) {
	release, err := c.engine.Endpoints.enter(c)
	if err != nil {
		return 0, err
	}
	defer func() { release(err) }()
	if err := c.wait(c.engine.calls); err != nil {
		return 0, err
	}
	defer func() { <-c.engine.calls }()
	began := time.Now()
	err = c.bounded(do)
	return time.Since(began), err
}

// wait puts a token into a channel, unless no new call may begin any more.
func (c caller) wait(place chan<- struct{}) error {
	if err := c.stopped(); err != nil {
		return c.unmade(err)
	}
	select {
	case place <- struct{}{}:
		return nil
	case <-c.ctx.Done():
		return c.unmade(context.Cause(c.ctx))
	case <-c.drain:
		return c.unmade(errDrain)
	}
}

// stopped tells why no new call may begin, nil when one may.
func (c caller) stopped() error {
	select {
	case <-c.drain:
		return errDrain
	default:
		return context.Cause(c.ctx)
	}
}

// unmade is the answer of a call that was not made.
func (c caller) unmade(cause error) error {
	e := c.explain(cause)
	e.Err = notTried{fmt.Errorf("not tried: %w", cause)}
	return e
}

// bounded calls do and gives it up when its context ended and it does not come
// back. A server gets the call limit; local work only has the phase's.
func (c caller) bounded(do func(context.Context) error) error {
	ctx := c.ctx
	if c.endpoint != "" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.engine.Budget.call(), errCall)
		defer cancel()
	}
	done := make(chan error, 1)
	go func() { done <- guarded(ctx, do) }()
	select {
	case err := <-done:
		return c.translate(ctx, err)
	case <-ctx.Done():
	}
	late := time.NewTimer(settle)
	defer late.Stop()
	select {
	case err := <-done:
		return c.translate(ctx, err)
	case <-late.C:
		return &residue.Error{Class: c.explain(context.Cause(ctx)).Class, Reason: abandoned, Err: context.Cause(ctx)}
	}
}

// guarded turns a panic of a kind into an error: one kind's mistake must not
// keep the others from their work.
func guarded(ctx context.Context, do func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = residue.Errorf(residue.Retry, residue.Other, "panic: %v at %s", p, debug.Stack())
		}
	}()
	return do(ctx)
}

// shut closes a cleaner. It is done with, so a panic has nobody to be told to.
func shut(c residue.Cleaner) {
	_ = guarded(context.Background(), func(context.Context) error {
		residue.Close(c)
		return nil
	})
}

// translate names our own reason where a kind only saw its context end.
func (c caller) translate(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	var own *residue.Error
	if errors.As(err, &own) && (own.Class != residue.Retry && own.Class != residue.Unreachable || own.Reason == residue.Deferred) {
		return err
	}
	e := c.explain(context.Cause(ctx))
	e.Err = err
	return e
}

// explain says what the end of a context means.
func (c caller) explain(cause error) *residue.Error {
	switch {
	case errors.Is(cause, errTotal):
		return &residue.Error{Class: residue.Retry, Reason: residue.Deadline, Err: cause}
	case errors.Is(cause, errStep):
		return &residue.Error{Class: residue.Retry, Reason: residue.Timeout, Err: cause}
	case errors.Is(cause, errCall):
		return &residue.Error{Class: residue.Unreachable, Reason: residue.Timeout, Err: cause}
	default:
		return &residue.Error{Class: residue.Retry, Reason: residue.Cancelled, Err: cause}
	}
}
