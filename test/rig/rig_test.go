//go:build linux

package rig_test

import (
	"os"
	"strings"
	"testing"

	"job-cleanup/test/rig"
)

func TestMachinesAreApart(t *testing.T) {
	for _, suite := range rig.Suites {
		t.Run(suite, func(t *testing.T) {
			t.Parallel()
			a, b := rig.Boot(t, suite), rig.Boot(t, suite)
			a.Write("/etc/systemd/system/probe.service", 0o644,
				"[Service]\nExecStart=sleep infinity\n")
			a.Write("/var/tmp/sub/file", 0o640, "text\n")
			if r := a.Start("probe.service"); r.Code != 0 {
				t.Fatal(r)
			}
			if got := a.Show("probe.service", "ActiveState", "SubState"); got["ActiveState"] != "active" || got["SubState"] != "running" {
				t.Errorf("state %v", got)
			}
			if a.Shell("stat -c %a /var/tmp/sub/file") != "640" || !a.Exists("/var/tmp/sub/file") {
				t.Error("the file has not its mode")
			}
			if b.Exists("/var/tmp/sub/file") || b.Show("probe.service", "LoadState")["LoadState"] != "not-found" {
				t.Error("one machine sees the other's files")
			}
			if _, err := os.Stat("/etc/systemd/system/probe.service"); err == nil {
				t.Error("the machine wrote on the host")
			}
		})
	}
}

func TestJournalFields(t *testing.T) {
	m := rig.Boot(t, rig.Suites[0])
	m.Shell(`printf 'MESSAGE=a message\nPROBE_BYTES=a\001b\nPROBE_TWICE=one\nPROBE_TWICE=two\n' | logger --journald`)
	entries := m.Journal("MESSAGE=a message")
	if len(entries) != 1 {
		t.Fatalf("%d records", len(entries))
	}
	want := rig.Entry{"_UID": "0", "PROBE_BYTES": "a\x01b", "PROBE_TWICE": "one\ntwo"}
	for name, text := range want {
		if got := entries[0][name]; got != text {
			t.Errorf("%s is %q, want %q", name, got, text)
		}
	}
}

func TestWithoutBus(t *testing.T) {
	m := rig.Boot(t, rig.Suites[1], rig.WithoutBus())
	if m.Exists("/run/dbus/system_bus_socket") {
		t.Error("the bus has a socket")
	}
	if r := m.Run("systemctl", "show", "-p", "Version", "--value"); r.Code != 0 || !strings.HasPrefix(r.Stdout, "257") {
		t.Error(r)
	}
}

func TestResultOfCommand(t *testing.T) {
	m := rig.Boot(t, rig.Suites[0])
	if r := m.Run("sh", "-c", "echo out; echo err >&2; exit 7"); r.Code != 7 || r.Stdout != "out\n" || r.Stderr != "err\n" {
		t.Error(r)
	}
}
