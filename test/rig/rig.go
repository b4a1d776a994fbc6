//go:build linux

// Package rig runs real systemd for tests: a Debian suite in a systemd-nspawn
// container that boots in about a second, is clean every time, and goes when
// its test ends.
//
// The container has the host's network and kernel, its own process and mount
// namespaces, and nothing of it reaches the host's files. It needs root; where
// that or a tool is missing the test is skipped with the reason.
package rig

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Suites are the Debian suites that the tests run in: systemd 252 and 257.
var Suites = []string{"bookworm", "trixie"}

const (
	bootLimit = 90 * time.Second // a second is usual; a loaded machine is slow
	stopLimit = 15 * time.Second // then its process 1 is killed
)

// T is what a machine needs of a test. A program that runs machines without
// being a test can have its own.
type T interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
	Skip(...any)
	Skipf(string, ...any)
	Cleanup(func())
	TempDir() string
}

// Option changes how a machine boots.
type Option func(*Machine)

// Bind shows the host's file or folder read-only at a path of the machine.
func Bind(host, guest string) Option {
	return func(m *Machine) { m.args = append(m.args, "--bind-ro="+host+":"+guest) }
}

// WithoutBus boots a machine that has no system bus: no dbus-daemon and no
// socket where one would be. systemd's private socket stays, as it does on
// real machines.
func WithoutBus() Option { return Mask("dbus.socket", "dbus.service") }

// Mask boots with units that can't be started.
func Mask(units ...string) Option {
	return func(m *Machine) {
		for _, unit := range units {
			m.args = append(m.args, "systemd.mask="+unit)
		}
	}
}

// Boot starts a machine of a suite, waits until it is up, and ends it with the
// test. Roots are made on first use, which takes about a minute.
func Boot(t T, suite string, options ...Option) *Machine {
	t.Helper()
	needTools(t)
	root, err := Root(suite)
	if err != nil {
		t.Fatalf("root of %s: %v", suite, err)
	}
	m := &Machine{Suite: suite, t: t, name: uniqueName(), exited: make(chan struct{})}
	for _, option := range options {
		option(m)
	}
	t.Cleanup(m.stop)
	m.start(root)
	m.waitBooted()
	return m
}

// needTools skips the test where a machine can't be run.
func needTools(t T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root to run a systemd container")
	}
	for _, tool := range []string{"systemd-nspawn", "debootstrap", "nsenter", "apt-cache"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs %s to run a systemd container", tool)
		}
	}
}

// uniqueName names a machine after this process, so that what a killed test
// run left is told from what lives, and is never in the way.
func uniqueName() string {
	var random [6]byte
	_, _ = rand.Read(random[:]) // never fails, says crypto/rand
	return cgroupPrefix + strconv.Itoa(os.Getpid()) + "-" + hex.EncodeToString(random[:])
}

// start runs systemd-nspawn in a control group of its own. A shell enters the
// group first: two machines in one group would end each other's units.
func (m *Machine) start(root string) {
	m.t.Helper()
	groups, err := makeCgroups(m.name)
	if err != nil {
		m.t.Skipf("needs writable control groups to run a systemd container: %v", err)
	}
	m.console = filepath.Join(m.t.TempDir(), "console")
	console, err := os.Create(m.console)
	if err != nil {
		m.t.Fatal(err)
	}
	defer console.Close()

	var enter strings.Builder
	for _, group := range groups {
		enter.WriteString("echo $$ >" + filepath.Join(group, "cgroup.procs") + "; ")
	}
	m.cmd = exec.Command("sh", append([]string{"-ec", enter.String() + `exec systemd-nspawn "$@"`, "sh"}, m.nspawnArgs(root)...)...)
	m.cmd.Stdout, m.cmd.Stderr = console, console
	m.cmd.Env = append(os.Environ(),
		"SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1", // as on every current machine, whatever this host has
		"SYSTEMD_NSPAWN_LOCK=0")              // the root is only read, so machines share it
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} // a killed test run: nspawn shuts the machine down
	if err := m.cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	go func() {
		_ = m.cmd.Wait() // how it ended is seen from what it did
		close(m.exited)
	}()
}

// nspawnArgs puts kernel-style arguments for systemd (systemd.mask=) last,
// where nspawn hands them to process 1.
func (m *Machine) nspawnArgs(root string) []string {
	args := []string{
		"-q", "-D", root, "-M", m.name, "--volatile=overlay", "--register=no", "--keep-unit",
		"--console=pipe", "--resolv-conf=off", "--timezone=off", "-b",
	}
	var guest []string
	for _, arg := range m.args {
		if strings.HasPrefix(arg, "--") {
			args = append(args, arg)
		} else {
			guest = append(guest, arg)
		}
	}
	return append(args, guest...)
}
