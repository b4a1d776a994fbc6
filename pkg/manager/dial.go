// Package manager talks to the systemd manager of the machine or of a user:
// what a unit is and whether it lives, over D-Bus, and the notification
// socket.
//
// Every call ends soon after its context does, also when the bus accepts a
// connection and never answers. Nothing here reads the environment: addresses
// are passed in.
package manager

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/godbus/dbus/v5"
)

// Address says where a manager is reached.
type Address struct {
	Bus     string // D-Bus address of the bus it is on
	Private string // its own socket, a path; tried when the bus is of no use; "" for none
}

// System is the machine's manager. Its own socket is open to root only.
func System() Address {
	a := Address{Bus: "unix:path=/run/dbus/system_bus_socket"}
	if os.Geteuid() == 0 {
		a.Private = "/run/systemd/private"
	}
	return a
}

// User is a user's manager; runtimeDir is the user's XDG_RUNTIME_DIR.
func User(runtimeDir string) Address {
	bus := filepath.Join(runtimeDir, "bus")
	return Address{
		Bus:     "unix:path=" + dbus.EscapeBusAddressValue(bus),
		Private: filepath.Join(runtimeDir, "systemd", "private"),
	}
}

// Conn is a connection to one manager, for any number of goroutines.
type Conn struct{ bus *dbus.Conn }

// Dial connects to a manager: over the bus, or over the manager's own socket
// where there is no bus or the manager is not on it. A bus that does not
// answer gets half of the time. Failures are ErrUnreachable.
func Dial(ctx context.Context, a Address) (*Conn, error) {
	if a.Private == "" {
		return dialBus(ctx, a.Bus)
	}
	half, cancel := context.WithTimeout(ctx, share(ctx))
	defer cancel()
	conn, busErr := dialBus(half, a.Bus)
	if busErr == nil {
		return conn, nil
	}
	conn, err := dialPrivate(ctx, a.Private)
	if err != nil {
		return nil, errors.Join(busErr, err)
	}
	return conn, nil
}

// share is half of the time that is left, or a few seconds when there is no
// end to it.
func share(ctx context.Context) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		return time.Until(end) / 2
	}
	return 5 * time.Second
}

// dialBus connects to a bus and makes sure that a manager is on it.
func dialBus(ctx context.Context, address string) (*Conn, error) {
	bus, err := open(ctx, address, (*dbus.Conn).Hello)
	if err != nil {
		return nil, unreachable(ctx, address, err)
	}
	return (&Conn{bus: bus}).greeted(ctx, address)
}

func dialPrivate(ctx context.Context, path string) (*Conn, error) {
	address := "unix:path=" + dbus.EscapeBusAddressValue(path)
	// There is no bus in between, so nobody who answers a Hello.
	bus, err := open(ctx, address, func(*dbus.Conn) error { return nil })
	if err != nil {
		return nil, unreachable(ctx, address, err)
	}
	return (&Conn{bus: bus}).greeted(ctx, address)
}

const ping = "org.freedesktop.DBus.Peer.Ping"

// greeted makes sure that the manager answers.
//
// It asks more than once. A manager that reads our first message together
// with the end of the authentication leaves it in its buffer until more
// arrives (seen on its own socket with systemd 257, in about half of the
// tries).
func (c *Conn) greeted(ctx context.Context, address string) (*Conn, error) {
	answers := make(chan *dbus.Call, 16)
	wait := 5 * time.Millisecond
	for range cap(answers) {
		c.bus.Object(managerName, managerPath).GoWithContext(ctx, ping, dbus.FlagNoAutoStart, answers)
		patience := time.NewTimer(wait)
		select {
		case answer := <-answers:
			patience.Stop()
			if answer.Err != nil {
				c.Close()
				return nil, unreachable(ctx, address, answer.Err)
			}
			return c, nil
		case <-patience.C:
			wait *= 2
		}
	}
	c.Close()
	return nil, unreachable(ctx, address, context.DeadlineExceeded)
}

// open connects and authenticates. The library's steps take no context, so
// the connection is closed under them when ctx ends; after that its life is
// its own.
func open(ctx context.Context, address string, hello func(*dbus.Conn) error) (*dbus.Conn, error) {
	life, end := context.WithCancel(context.Background())
	keep := context.AfterFunc(ctx, end)
	bus, err := dbus.Dial(address, dbus.WithContext(life))
	if err != nil {
		end()
		return nil, err
	}
	// The number, not the name: the name would need a look-up.
	err = bus.Auth([]dbus.Auth{dbus.AuthExternal(strconv.Itoa(os.Geteuid()))})
	if err == nil {
		err = hello(bus)
	}
	if !keep() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		end()
		return nil, err
	}
	return bus, nil
}

// Close ends the connection. Calls in flight fail.
func (c *Conn) Close() { _ = c.bus.Close() } // nothing was buffered, nothing is lost

// unreachable wraps the error of a manager that can't be talked to.
func unreachable(ctx context.Context, address string, err error) error {
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return fmt.Errorf("%w at %q: %w", ErrUnreachable, address, err)
}
