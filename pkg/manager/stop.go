package manager

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/godbus/dbus/v5"
)

// Stop stops a unit if it is still in the given invocation, and waits until it
// is down. What is down already is ErrOver, another invocation ErrChanged; a
// context that ends first is ErrRunning.
func (c *Conn) Stop(ctx context.Context, name, invocation string) error {
	what := fmt.Sprintf("stop unit %q", name)
	u, err := c.invoked(ctx, what, name, invocation)
	if err != nil {
		return err
	}
	if u.ended() {
		return fmt.Errorf("%s: %w", what, ErrOver)
	}
	path := invocationPath(invocation)
	var job dbus.ObjectPath
	err = c.call(ctx, path, unitIface+".Stop", "replace").Store(&job)
	if err != nil {
		return c.since(ctx, name, failed(ctx, what, err))
	}
	return c.untilDown(ctx, what, path)
}

// ResetFailed takes a unit out of the failed state if it got there in the
// given invocation. What is not failed any more is ErrOver.
func (c *Conn) ResetFailed(ctx context.Context, name, invocation string) error {
	what := fmt.Sprintf("reset unit %q", name)
	u, err := c.invoked(ctx, what, name, invocation)
	if err != nil {
		return err
	}
	if u.ActiveState != "failed" {
		return fmt.Errorf("%s: %w", what, ErrOver)
	}
	if err := c.call(ctx, invocationPath(invocation), unitIface+".ResetFailed").Err; err != nil {
		return c.since(ctx, name, failed(ctx, what, err))
	}
	return nil
}

// invoked returns the unit of that name if it is in that invocation.
func (c *Conn) invoked(ctx context.Context, what, name, invocation string) (Unit, error) {
	if _, err := invocationID(invocation); err != nil {
		return Unit{}, fmt.Errorf("%s: %w", what, err)
	}
	u, err := c.ByInvocation(ctx, invocation)
	if err != nil {
		return Unit{}, c.since(ctx, name, err)
	}
	if u.Name != name {
		return Unit{}, fmt.Errorf("%s: %w: %s is one of %q", what, ErrChanged, invocation, u.Name)
	}
	return u, nil
}

// since says what became of a unit whose invocation there is none of: over, or
// followed by another one. Errors that say something else stay.
func (c *Conn) since(ctx context.Context, name string, err error) error {
	if !errors.Is(err, ErrNotLoaded) {
		return err
	}
	life, lookErr := c.Live(ctx, name)
	switch {
	case lookErr != nil:
		return lookErr
	case life.State == Alive:
		return fmt.Errorf("unit %q: %w: %s", name, ErrChanged, life.Invocation)
	}
	return fmt.Errorf("unit %q: %w", name, ErrOver)
}

// untilDown asks until the object of an invocation is down or gone. It asks
// because signals of the manager reach subscribers only over a bus.
func (c *Conn) untilDown(ctx context.Context, what string, path dbus.ObjectPath) error {
	pause := 5 * time.Millisecond
	for {
		u, err := c.read(ctx, what, path)
		switch {
		case errors.Is(err, ErrNotLoaded), err == nil && u.ended():
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("%s: %w: %w", what, ErrRunning, ctx.Err())
		case err != nil:
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("%s: %w: %w", what, ErrRunning, ctx.Err())
		}
		pause = min(2*pause, 250*time.Millisecond)
	}
}
