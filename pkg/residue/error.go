package residue

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Class says what the engine does about a residue that was not removed.
type Class int

// The classes.
const (
	Retry       Class = iota // owed: try again later
	Unreachable              // owed: the endpoint does not answer, others on it need not try
	Gone                     // closed: it was not there any more
	Refused                  // a safety rule forbids it: shown loudly, never tried again
	Lost                     // closed untouched: it is somebody else's now
	Until                    // not revocable: closed when Error.Until has passed
)

// Reason is one word for why, as it stands in the journal.
type Reason string

// The reasons.
const (
	Deadline      Reason = "deadline"       // our own time ran out
	Timeout       Reason = "timeout"        // one call was not answered in time
	NoAnswer      Reason = "unreachable"    // the endpoint is down
	Permission    Reason = "permission"     // we may not
	NoCredentials Reason = "no-credentials" // nothing to prove ourselves with
	MountPoint    Reason = "mount-point"    // something is mounted there
	Immutable     Reason = "immutable"      // the file system refuses: chattr +i, read-only
	InUse         Reason = "in-use"         // a live holder
	Changed       Reason = "changed"        // not the thing that was recorded
	StillWritten  Reason = "still-written"  // somebody keeps writing into it
	Protected     Reason = "protected"      // never to be removed
	OutsideBase   Reason = "outside-base"   // not strictly below an allowed base
	Unset         Reason = "unset"          // a variable the step needs has no value
	Disabled      Reason = "disabled"       // When=, Enabled=, --skip or --only say no
	Cancelled     Reason = "cancelled"      // we were told to stop
	Deferred      Reason = "deferred"       // as the step asks: out of the way, to be deleted by a sweep
	Unrecorded    Reason = "unrecorded"     // the ledger could not be written
	Other         Reason = "error"          // see the message
)

// Error is what a Cleaner answers with. One of class Retry and reason Deferred
// is no failure: what was to be done now is done, and the rest is due at the
// next sweep.
type Error struct {
	Class  Class
	Reason Reason
	Until  time.Time // of class Until: when it ends by itself
	Err    error     // the cause, for people; free of secrets
}

// Error is the reason followed by the cause.
func (e *Error) Error() string {
	if e.Err == nil {
		return string(e.Reason)
	}
	return fmt.Sprintf("%s: %v", e.Reason, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an *Error; its cause is made by fmt.Errorf.
func Errorf(class Class, reason Reason, format string, args ...any) *Error {
	return &Error{Class: class, Reason: reason, Err: fmt.Errorf(format, args...)}
}

// ErrGone is the answer of Remove for what was not there any more.
var ErrGone = &Error{Class: Gone, Reason: "absent"}

// IsGone reports whether err says that there is nothing any more.
func IsGone(err error) bool {
	e := AsError(err)
	return e != nil && e.Class == Gone
}

// AsError returns the *Error in err's chain, or err as a retryable one with
// reason "error". It returns nil for nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Class: Retry, Reason: Other, Err: err}
}

// Ended is the answer of a cleaner whose context is over, nil while it is not.
func Ended(ctx context.Context) error {
	switch err := ctx.Err(); {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Class: Retry, Reason: Deadline, Err: err}
	default:
		return &Error{Class: Retry, Reason: Cancelled, Err: err}
	}
}
