package manager

import (
	"context"
	"errors"
	"slices"
)

// State is whether a unit lives.
type State int

// The states. Whoever gets no answer has to take the unit for alive.
const (
	Unknown State = iota
	Alive
	Over
)

// Life is a unit's state, and the invocation it is in or ended with.
type Life struct {
	State      State
	Invocation string
}

// IsOver reports whether one invocation of the unit is certainly over: the
// unit is, or it lives in another one.
func (l Life) IsOver(invocation string) bool {
	return l.State == Over || l.State == Alive && l.Invocation != "" && l.Invocation != invocation
}

// Live tells whether a unit lives, without loading it. One that is not loaded,
// inactive, failed or waiting for its restart is over; one that is stopping,
// its hook included, lives. With an error the state is Unknown.
func (c *Conn) Live(ctx context.Context, name string) (Life, error) {
	u, err := c.Unit(ctx, name)
	switch {
	case errors.Is(err, ErrNotLoaded):
		return Life{State: Over}, nil
	case err != nil:
		return Life{}, err
	}
	return u.Life(), nil
}

// Life judges the unit's state.
func (u Unit) Life() Life {
	if u.ended() || u.ActiveState == "activating" && waiting(u.SubState) {
		return Life{Over, u.Invocation}
	}
	return Life{Alive, u.Invocation}
}

// ended reports whether nothing runs and nothing will by itself.
func (u Unit) ended() bool {
	return slices.Contains([]string{"inactive", "failed"}, u.ActiveState)
}

// waiting is between two invocations.
func waiting(sub string) bool { return sub == "auto-restart" || sub == "auto-restart-queued" }
