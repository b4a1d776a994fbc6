package managertest

import (
	"encoding/hex"
	"strings"

	"github.com/godbus/dbus/v5"
)

// unitObject serves org.freedesktop.systemd1.Unit.
type unitObject struct{ m *Manager }

// change finds the unit of a call and notes the call, unless it is denied. The
// caller holds the lock.
func (o unitObject) change(msg dbus.Message, what string) (*Unit, *dbus.Error) {
	if before := o.m.before; before != nil {
		o.m.mu.Unlock()
		before()
		o.m.mu.Lock()
	}
	u := o.m.at(msg)
	switch {
	case u == nil:
		return nil, failure("DBus.Error.UnknownObject")
	case o.m.deny:
		return nil, failure("DBus.Error.InteractiveAuthorizationRequired")
	}
	o.m.calls = append(o.m.calls, what+" "+u.Name)
	return u, nil
}

// Stop brings a unit down at once, or never when it is stuck. A transient one
// is unloaded then.
func (o unitObject) Stop(msg dbus.Message, _ string) (dbus.ObjectPath, *dbus.Error) {
	o.m.mu.Lock()
	defer o.m.mu.Unlock()
	u, err := o.change(msg, "Stop")
	if err != nil {
		return "", err
	}
	switch {
	case u.Stuck:
		u.Active, u.Sub = "deactivating", "stop-sigterm"
	case u.Transient:
		delete(o.m.units, u.Name)
	default:
		u.Active, u.Sub = "inactive", "dead"
	}
	return "/org/freedesktop/systemd1/job/1", nil
}

// ResetFailed makes a failed unit an inactive one.
func (o unitObject) ResetFailed(msg dbus.Message) *dbus.Error {
	o.m.mu.Lock()
	defer o.m.mu.Unlock()
	u, err := o.change(msg, "ResetFailed")
	if err != nil {
		return err
	}
	u.Active, u.Sub = "inactive", "dead"
	return nil
}

// unitProperties serves org.freedesktop.DBus.Properties of units.
type unitProperties struct{ m *Manager }

// GetAll answers with what the unit has on that interface.
func (o unitProperties) GetAll(msg dbus.Message, iface string) (map[string]dbus.Variant, *dbus.Error) {
	o.m.mu.Lock()
	defer o.m.mu.Unlock()
	u := o.m.at(msg)
	if u == nil {
		return nil, failure("DBus.Error.UnknownObject")
	}
	values := u.Service
	if iface == name+".Unit" {
		values = u.generic()
	}
	answer := map[string]dbus.Variant{}
	for key, value := range values {
		answer[key] = dbus.MakeVariant(value)
	}
	return answer, nil
}

func (u *Unit) generic() map[string]any {
	id, err := hex.DecodeString(strings.TrimSpace(u.Invocation))
	if err != nil {
		id = nil
	}
	started := uint64(0)
	if !u.Started.IsZero() {
		started = uint64(u.Started.UnixMicro())
	}
	return map[string]any{
		"Id": u.Name, "LoadState": "loaded", "ActiveState": u.Active, "SubState": u.Sub,
		"InvocationID": id, "Transient": u.Transient, "InactiveExitTimestamp": started,
	}
}
