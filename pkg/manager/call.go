package manager

import (
	"context"
	"errors"
	"fmt"
	"strings"

	systemd "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"
)

// What a caller acts on; errors of this package wrap one of these or none.
var (
	// ErrUnreachable says that nobody answers: no bus, no manager on it, or no
	// answer in time.
	ErrUnreachable = errors.New("no answer from the service manager")
	// ErrNotLoaded says that the manager has no such unit, invocation or
	// process now.
	ErrNotLoaded = errors.New("unit is not loaded")
	// ErrOver says that the invocation is over: there is nothing to stop or to
	// reset any more.
	ErrOver = errors.New("invocation is over")
	// ErrChanged says that the unit is in another invocation by now.
	ErrChanged = errors.New("unit is in another invocation")
	// ErrDenied says that the manager does not let us.
	ErrDenied = errors.New("denied by the service manager")
	// ErrRunning says that the context ended while the unit was still going
	// down. The manager goes on with it.
	ErrRunning = errors.New("unit is still going down")
)

const (
	managerName  = "org.freedesktop.systemd1"
	managerPath  = dbus.ObjectPath("/org/freedesktop/systemd1")
	managerIface = "org.freedesktop.systemd1.Manager"
	unitIface    = "org.freedesktop.systemd1.Unit"
	unitPaths    = "/org/freedesktop/systemd1/unit/"
)

// call makes one method call to the manager and waits for the answer until ctx
// ends.
func (c *Conn) call(ctx context.Context, path dbus.ObjectPath, method string, args ...any) *dbus.Call {
	// No auto-start: a bus must not try to start a manager that isn't there.
	return c.bus.Object(managerName, path).CallWithContext(ctx, method, dbus.FlagNoAutoStart, args...)
}

// invocationPath is the object that is a unit for as long as it is in that
// invocation, and no unit at all afterwards. A method called on it can't hit
// any other invocation; with a look before a call by name it could.
func invocationPath(invocation string) dbus.ObjectPath {
	return dbus.ObjectPath(unitPaths + systemd.PathBusEscape(invocation))
}

// failed puts what was done before an error of the bus or the manager, and
// wraps the sentinel that it amounts to.
func failed(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w: %w", what, ErrUnreachable, ctx.Err())
	}
	if kind := meaning(err); kind != nil {
		return fmt.Errorf("%s: %w: %w", what, kind, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// meaning returns the sentinel for an error, nil when there is none.
func meaning(err error) error {
	var answer dbus.Error
	if !errors.As(err, &answer) {
		return ErrUnreachable // not an answer: the connection broke
	}
	switch word := strings.TrimPrefix(answer.Name, "org.freedesktop."); word {
	case "systemd1.NoSuchUnit", "systemd1.NoUnitForInvocationID", "systemd1.NoUnitForPID", "DBus.Error.UnknownObject":
		return ErrNotLoaded
	case "DBus.Error.AccessDenied", "DBus.Error.InteractiveAuthorizationRequired", "systemd1.OnlyByDependency":
		return ErrDenied
	case "DBus.Error.ServiceUnknown", "DBus.Error.NameHasNoOwner", "DBus.Error.NoReply",
		"DBus.Error.Timeout", "DBus.Error.Disconnected":
		return ErrUnreachable
	default:
		if strings.HasPrefix(word, "DBus.Error.Spawn.") {
			return ErrUnreachable
		}
		return nil
	}
}
