package managertest

import (
	"encoding/hex"
	"path"
	"sync"
	"testing"
	"time"

	systemd "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"
)

const (
	name     = "org.freedesktop.systemd1"
	object   = dbus.ObjectPath("/org/freedesktop/systemd1")
	subtree  = dbus.ObjectPath("/org/freedesktop/systemd1/unit")
	unitPath = subtree + "/"
)

// Unit is a unit of the fake manager.
type Unit struct {
	Name       string
	Alias      string // another name it answers to
	Active     string // ActiveState
	Sub        string // SubState
	Invocation string
	Started    time.Time
	Transient  bool
	Service    map[string]any // properties of its type
	Stuck      bool           // a stop leaves it deactivating
}

// Manager is the fake. Its methods may be called while it serves.
type Manager struct {
	Address string // of the bus it is on

	mu     sync.Mutex
	conn   *dbus.Conn
	units  map[string]*Unit
	calls  []string // methods that would change something, and "LoadUnit"
	deny   bool
	before func()
}

// New starts a manager on a bus of its own.
func New(t testing.TB, units ...Unit) *Manager {
	t.Helper()
	m := &Manager{Address: Bus(t), units: map[string]*Unit{}}
	for _, u := range units {
		m.Put(u)
	}
	m.Serve(t)
	return m
}

// Leave takes the manager off its bus.
func (m *Manager) Leave(t testing.TB) {
	t.Helper()
	m.mu.Lock()
	conn := m.conn
	m.mu.Unlock()
	if _, err := conn.ReleaseName(name); err != nil {
		t.Fatal(err)
	}
	conn.Close()
}

// Serve puts the manager on its bus, again after Leave.
func (m *Manager) Serve(t testing.TB) {
	t.Helper()
	conn := join(t, m.Address)
	m.mu.Lock()
	m.conn = conn
	m.mu.Unlock()
	exports := []error{
		conn.Export(managerObject{m}, object, name+".Manager"),
		conn.ExportSubtree(unitObject{m}, subtree, name+".Unit"),
		conn.ExportSubtree(unitProperties{m}, subtree, "org.freedesktop.DBus.Properties"),
	}
	for _, err := range exports {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.RequestName(name, 0); err != nil {
		t.Fatal(err)
	}
}

// Put adds or replaces a unit.
func (m *Manager) Put(u Unit) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.units[u.Name] = &u
}

// Drop unloads a unit.
func (m *Manager) Drop(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.units, name)
}

// Get returns a unit as it is now; ok is false when it is not loaded.
func (m *Manager) Get(name string) (u Unit, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if found := m.units[name]; found != nil {
		return *found, true
	}
	return Unit{}, false
}

// Deny makes every change from now on an access error.
func (m *Manager) Deny() { m.mu.Lock(); defer m.mu.Unlock(); m.deny = true }

// BeforeChange calls f when a change is asked for and before it is looked at,
// to move the world between a caller's look and its act.
func (m *Manager) BeforeChange(f func()) { m.mu.Lock(); defer m.mu.Unlock(); m.before = f }

// Calls returns what was changed: "Stop NAME", "ResetFailed NAME", "LoadUnit
// NAME".
func (m *Manager) Calls() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.calls...)
}

// at returns the unit that an object stands for: by name, or by invocation.
func (m *Manager) at(msg dbus.Message) *Unit {
	p, _ := msg.Headers[dbus.FieldPath].Value().(dbus.ObjectPath)
	for _, u := range m.units {
		for _, word := range []string{u.Name, u.Invocation} {
			if word != "" && path.Base(string(p)) == systemd.PathBusEscape(word) {
				return u
			}
		}
	}
	return nil
}

func (m *Manager) find(match func(*Unit) bool) (dbus.ObjectPath, *dbus.Error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, u := range m.units {
		if match(u) {
			return unitPath + dbus.ObjectPath(systemd.PathBusEscape(u.Name)), nil
		}
	}
	return "", failure("systemd1.NoSuchUnit")
}

func failure(word string) *dbus.Error { return dbus.NewError("org.freedesktop."+word, []any{word}) }

// managerObject serves org.freedesktop.systemd1.Manager.
type managerObject struct{ m *Manager }

// GetUnit answers for loaded units.
func (o managerObject) GetUnit(name string) (dbus.ObjectPath, *dbus.Error) {
	return o.m.find(func(u *Unit) bool { return u.Name == name || u.Alias == name })
}

// LoadUnit makes a unit that isn't there an inactive one.
func (o managerObject) LoadUnit(name string) (dbus.ObjectPath, *dbus.Error) {
	o.m.mu.Lock()
	o.m.calls = append(o.m.calls, "LoadUnit "+name)
	if o.m.units[name] == nil {
		o.m.units[name] = &Unit{Name: name, Active: "inactive", Sub: "dead"}
	}
	o.m.mu.Unlock()
	return o.GetUnit(name)
}

// GetUnitByInvocationID answers for the last invocation of each unit.
func (o managerObject) GetUnitByInvocationID(id []byte) (dbus.ObjectPath, *dbus.Error) {
	p, err := o.m.find(func(u *Unit) bool { return u.Invocation == hex.EncodeToString(id) })
	if err != nil {
		return "", failure("systemd1.NoUnitForInvocationID")
	}
	return p, nil
}

// GetUnitByPID answers by MainPID.
func (o managerObject) GetUnitByPID(pid uint32) (dbus.ObjectPath, *dbus.Error) {
	return o.m.find(func(u *Unit) bool { return u.Service["MainPID"] == pid })
}

type row struct {
	Name, Description, Load, Active, Sub, Following string
	Path                                            dbus.ObjectPath
	JobID                                           uint32
	JobType                                         string
	JobPath                                         dbus.ObjectPath
}

// ListUnitsByPatterns lists what matches.
func (o managerObject) ListUnitsByPatterns(_, patterns []string) ([]row, *dbus.Error) {
	o.m.mu.Lock()
	defer o.m.mu.Unlock()
	rows := []row{}
	for _, u := range o.m.units {
		matches := len(patterns) == 0
		for _, p := range patterns {
			if ok, err := path.Match(p, u.Name); err == nil && ok {
				matches = true
			}
		}
		if matches {
			rows = append(rows, row{Name: u.Name, Load: "loaded", Active: u.Active, Sub: u.Sub, Path: "/x", JobPath: "/"})
		}
	}
	return rows, nil
}
