// Package managertest is a small service manager on a message bus of its own,
// for tests. It knows just enough of systemd's D-Bus interface to list, read,
// stop and reset units; whatever needs the real one is tested with the real
// one.
package managertest

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
)

const busConfig = `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:path=%s</listen><policy context="default">
<allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>`

// Bus starts a real dbus-daemon without a manager on it and returns its
// address. The test is skipped where there is no dbus-daemon.
func Bus(t testing.TB) (address string) {
	t.Helper()
	program, err := exec.LookPath("dbus-daemon")
	if err != nil {
		t.Skip("no dbus-daemon on this machine")
	}
	dir := shortDir(t)
	config := filepath.Join(dir, "bus.conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, busConfig, filepath.Join(dir, "bus")), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--config-file="+config, "--nofork", "--nosyslog", "--print-address")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("dbus-daemon did not start: %v", err)
	}
	return "unix:path=" + filepath.Join(dir, "bus")
}

// Silent is the address of a socket that accepts and never answers.
func Silent(t testing.TB) (address string) {
	t.Helper()
	path := filepath.Join(shortDir(t), "silent")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
		}
	}()
	return "unix:path=" + path
}

// shortDir is a folder whose name leaves room for a socket's: an address of
// one holds 107 bytes.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "bus")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// join puts a manager on a bus.
func join(t testing.TB, address string) *dbus.Conn {
	t.Helper()
	conn, err := dbus.Connect(address, dbus.WithAuth(dbus.AuthExternal(fmt.Sprint(os.Geteuid()))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// Eventually fails the test when a condition does not come true in 5 seconds.
func Eventually(t testing.TB, what string, true func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !true(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never happened: %s", what)
		}
	}
}
