package manager

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"
)

// Infinite is a time span that has no end ("infinity").
const Infinite = time.Duration(1<<63 - 1)

// Unit is what a manager knows of one unit. What does not apply to its type,
// or is not known to this version of the manager, has its zero value.
type Unit struct {
	Name        string // the main one; a look-up by an alias answers with it too
	LoadState   string // loaded, not-found, masked, …
	ActiveState string // active, reloading, inactive, failed, activating, deactivating, …
	SubState    string // running, auto-restart, stop-post, dead, …
	Invocation  string // 32 hexadecimal digits, kept after the end; "" before the first start
	Fragment    string // the unit file
	DropIns     []string
	Transient   bool // made over D-Bus: systemd-run
	Slice       string

	Started time.Time // when the invocation began (left "inactive" last)
	Active  time.Time // when it became active last
	Ended   time.Time // when it became inactive last
	Result  string    // of the last end: success, exit-code, …
	MainPID uint32    // 0 when there is no main process
	Cgroup  string    // below the root of the hierarchy; "" when there is none

	User    string  // User= as written
	Group   string  // Group= as written
	UID     *uint32 // who it runs as, dynamic users too; nil when it is not loaded far enough or has no User=
	GID     *uint32
	Dynamic bool // DynamicUser=

	TimeoutStart time.Duration // Infinite for a oneshot by default
	TimeoutStop  time.Duration
	KillMode     string
	NotifyAccess string

	// The names in RuntimeDirectory= and the like, relative to their bases.
	RuntimeDirectory, StateDirectory, CacheDirectory, LogsDirectory []string

	Sandbox Sandbox
}

// Sandbox is what makes the unit's file tree or network another one.
type Sandbox struct {
	PrivateTmp       bool
	PrivateNetwork   bool
	ProtectSystem    string // no, yes, full, strict
	ProtectHome      string // no, yes, read-only, tmpfs
	RootDirectory    string
	RootImage        string
	BindPaths        []string // where they appear; the read-only ones too
	TemporaryFS      []string
	Inaccessible     []string
	ReadWritePaths   []string
	WorkingDirectory string
}

// RunsAsRoot reports whether the unit's main lines certainly have root's own
// rights.
func (u Unit) RunsAsRoot() bool {
	root := u.User == "" || u.User == "root" || u.User == "0"
	return u.LoadState == "loaded" && root && !u.Dynamic && (u.UID == nil || *u.UID == 0)
}

// Unit returns a unit that is loaded; any other is ErrNotLoaded. It loads
// none: to ask for a unit must not bring it back.
func (c *Conn) Unit(ctx context.Context, name string) (Unit, error) {
	return c.lookUp(ctx, fmt.Sprintf("look up unit %q", name), "GetUnit", name)
}

// Load returns a unit, loading it from its file when it isn't loaded. One
// that does not exist comes with LoadState "not-found".
func (c *Conn) Load(ctx context.Context, name string) (Unit, error) {
	return c.lookUp(ctx, fmt.Sprintf("load unit %q", name), "LoadUnit", name)
}

// ByInvocation returns the unit that is in this invocation, or that ended with
// it. No such unit is ErrNotLoaded.
func (c *Conn) ByInvocation(ctx context.Context, invocation string) (Unit, error) {
	id, err := invocationID(invocation)
	if err != nil {
		return Unit{}, err
	}
	return c.lookUp(ctx, "look up invocation "+invocation, "GetUnitByInvocationID", id)
}

// ByPID returns the unit that a process of the manager's machine is in.
func (c *Conn) ByPID(ctx context.Context, pid uint32) (Unit, error) {
	if pid == 0 { // the manager would take it for the caller itself
		return Unit{}, fmt.Errorf("look up process 0: %w", ErrNotLoaded)
	}
	return c.lookUp(ctx, fmt.Sprintf("look up process %d", pid), "GetUnitByPID", pid)
}

// Self returns the unit that the caller is in, whatever it sees of its control
// group and its process number: the manager sees both from outside.
func (c *Conn) Self(ctx context.Context) (Unit, error) {
	return c.lookUp(ctx, "look up ourselves", "GetUnitByPID", uint32(0))
}

// invocationID checks an id. The manager takes an empty or null one for the
// caller's own.
func invocationID(text string) ([]byte, error) {
	id, err := hex.DecodeString(text)
	if err != nil || len(id) != 16 || strings.Trim(text, "0") == "" {
		return nil, fmt.Errorf("invocation %q is not 32 hexadecimal digits", text)
	}
	return id, nil
}

// lookUp calls a method that answers with a unit's object, and reads that.
func (c *Conn) lookUp(ctx context.Context, what, method string, arg any) (Unit, error) {
	var path dbus.ObjectPath
	if err := c.call(ctx, managerPath, managerIface+"."+method, arg).Store(&path); err != nil {
		return Unit{}, failed(ctx, what, err)
	}
	return c.read(ctx, what, path)
}

// read reads all of a unit's properties.
func (c *Conn) read(ctx context.Context, what string, path dbus.ObjectPath) (Unit, error) {
	p, err := c.properties(ctx, path, unitIface)
	if err != nil {
		return Unit{}, failed(ctx, what, err)
	}
	u := generic(p)
	if iface := typeIface(u.Name); iface != "" && u.LoadState == "loaded" {
		if p, err = c.properties(ctx, path, iface); err != nil {
			return Unit{}, failed(ctx, what, err)
		}
		specific(&u, p)
	}
	return u, nil
}

func (c *Conn) properties(ctx context.Context, path dbus.ObjectPath, iface string) (properties, error) {
	var p properties
	err := c.call(ctx, path, "org.freedesktop.DBus.Properties.GetAll", iface).Store(&p)
	return p, err
}

// typeIface is the D-Bus interface of a unit's type, "" for those that have
// nothing we ask for.
func typeIface(name string) string {
	switch name[strings.LastIndexByte(name, '.')+1:] {
	case "service":
		return managerName + ".Service"
	case "scope":
		return managerName + ".Scope"
	case "socket":
		return managerName + ".Socket"
	}
	return ""
}
