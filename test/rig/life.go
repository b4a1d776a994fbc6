//go:build linux

package rig

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// waitBooted waits for process 1 and then for the end of the boot. A machine
// that boots "degraded" is up too: some tests mask what others need.
func (m *Machine) waitBooted() {
	m.t.Helper()
	up := poll(bootLimit, func() bool {
		if m.gone() {
			return true
		}
		if m.leader == 0 {
			m.leader = onlyChild(m.cmd.Process.Pid)
		}
		if m.leader == 0 {
			return false
		}
		switch strings.TrimSpace(m.Run("systemctl", "is-system-running").Stdout) {
		case "running", "degraded":
			return true
		}
		return false
	})
	if !up || m.gone() {
		text, _ := os.ReadFile(m.console)
		m.t.Fatalf("%s: did not boot; its console:\n%s", m.Suite, text)
	}
}

func (m *Machine) gone() bool {
	select {
	case <-m.exited:
		return true
	default:
		return false
	}
}

// onlyChild returns the one child of a process, 0 while there is none or it
// has not become process 1 of a namespace of its own.
func onlyChild(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return 0
	}
	for _, field := range strings.Fields(string(text)) {
		child, err := strconv.Atoi(field)
		if err == nil && isInit(child) {
			return child
		}
	}
	return 0
}

// isInit reports whether a process is systemd as process 1 of its namespace:
// nspawn's own child is numbered 1 before it executes systemd.
func isInit(pid int) bool {
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil || strings.TrimSpace(string(comm)) != "systemd" {
		return false
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(status)) {
		if numbers, ok := strings.CutPrefix(line, "NSpid:"); ok {
			return strings.HasSuffix(strings.TrimSpace(numbers), "\t1")
		}
	}
	return false
}

// stop shuts the machine down in order, and by killing its process 1 when that
// takes too long.
func (m *Machine) stop() {
	defer removeCgroups(m.name)
	if m.cmd == nil || m.cmd.Process == nil {
		return
	}
	if m.leader != 0 && !m.gone() {
		m.Run("systemctl", "poweroff", "--no-block")
		if m.waitExit(stopLimit) {
			return
		}
		_ = syscall.Kill(m.leader, syscall.SIGKILL) // it may have ended by itself
	}
	if !m.waitExit(5 * time.Second) {
		_ = m.cmd.Process.Kill()
		m.waitExit(5 * time.Second)
	}
}

func (m *Machine) waitExit(limit time.Duration) bool {
	select {
	case <-m.exited:
		return true
	case <-time.After(limit):
		return false
	}
}
