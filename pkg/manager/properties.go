package manager

import (
	"encoding/hex"
	"math"
	"time"

	"github.com/godbus/dbus/v5"
)

// properties are an object's properties as they came. The readers below answer
// with a zero value for a property that is missing or of another type: older
// and newer managers have fewer and more.
type properties map[string]dbus.Variant

func get[T any](p properties, name string) T {
	value, _ := p[name].Value().(T)
	return value
}

// span reads microseconds; the manager writes "infinity" as the largest
// number.
func (p properties) span(name string) time.Duration {
	usec := get[uint64](p, name)
	if usec > math.MaxInt64/uint64(time.Microsecond) {
		return Infinite
	}
	return time.Duration(usec) * time.Microsecond
}

// stamp reads microseconds since 1970; 0 means never.
func (p properties) stamp(name string) time.Time {
	usec := get[uint64](p, name)
	if usec == 0 || usec > math.MaxInt64 {
		return time.Time{}
	}
	return time.UnixMicro(int64(usec))
}

// id reads a user or group number; the largest one means none.
func (p properties) id(name string) *uint32 {
	value, ok := p[name].Value().(uint32)
	if !ok || value == math.MaxUint32 {
		return nil
	}
	return &value
}

// column reads one text column of an array of structures.
func (p properties) column(name string, at int) []string {
	var texts []string
	for _, row := range get[[][]any](p, name) {
		if at < len(row) {
			if text, ok := row[at].(string); ok {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// generic fills in what all types of unit have.
func generic(p properties) Unit {
	return Unit{
		Name:        get[string](p, "Id"),
		LoadState:   get[string](p, "LoadState"),
		ActiveState: get[string](p, "ActiveState"),
		SubState:    get[string](p, "SubState"),
		Invocation:  hex.EncodeToString(get[[]byte](p, "InvocationID")),
		Fragment:    get[string](p, "FragmentPath"),
		DropIns:     get[[]string](p, "DropInPaths"),
		Transient:   get[bool](p, "Transient"),
		Started:     p.stamp("InactiveExitTimestamp"),
		Active:      p.stamp("ActiveEnterTimestamp"),
		Ended:       p.stamp("InactiveEnterTimestamp"),
	}
}

// specific fills in what services, and in parts scopes and sockets, have.
func specific(u *Unit, p properties) {
	u.Slice = get[string](p, "Slice")
	u.Result = get[string](p, "Result")
	u.MainPID = get[uint32](p, "MainPID")
	u.Cgroup = get[string](p, "ControlGroup")
	u.User, u.Group = get[string](p, "User"), get[string](p, "Group")
	u.UID, u.GID = p.id("UID"), p.id("GID")
	u.Dynamic = get[bool](p, "DynamicUser")
	u.TimeoutStart, u.TimeoutStop = p.span("TimeoutStartUSec"), p.span("TimeoutStopUSec")
	u.KillMode = get[string](p, "KillMode")
	u.NotifyAccess = get[string](p, "NotifyAccess")
	u.RuntimeDirectory = get[[]string](p, "RuntimeDirectory")
	u.StateDirectory = get[[]string](p, "StateDirectory")
	u.CacheDirectory = get[[]string](p, "CacheDirectory")
	u.LogsDirectory = get[[]string](p, "LogsDirectory")
	u.Sandbox = sandbox(p)
}

func sandbox(p properties) Sandbox {
	return Sandbox{
		PrivateTmp:       get[bool](p, "PrivateTmp"),
		PrivateNetwork:   get[bool](p, "PrivateNetwork"),
		ProtectSystem:    get[string](p, "ProtectSystem"),
		ProtectHome:      get[string](p, "ProtectHome"),
		RootDirectory:    get[string](p, "RootDirectory"),
		RootImage:        get[string](p, "RootImage"),
		BindPaths:        append(p.column("BindPaths", 1), p.column("BindReadOnlyPaths", 1)...),
		TemporaryFS:      p.column("TemporaryFileSystem", 0),
		Inaccessible:     get[[]string](p, "InaccessiblePaths"),
		ReadWritePaths:   get[[]string](p, "ReadWritePaths"),
		WorkingDirectory: get[string](p, "WorkingDirectory"),
	}
}
