//go:build linux

package rig

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Machine is one booted container. Its methods end the test when the machine
// itself fails them; a command that exits non-zero is a result, not a failure.
type Machine struct {
	Suite string // "bookworm"

	t       T
	name    string
	args    []string // of nspawn if they start with "--", else of process 1
	cmd     *exec.Cmd
	leader  int // process 1 of the machine, as the host numbers it
	console string
	exited  chan struct{} // closed when systemd-nspawn is gone
}

// Result is what a command did.
type Result struct {
	Stdout, Stderr string
	Code           int // exit status, or 128 and the signal's number
}

// String shows all of it, for messages.
func (r Result) String() string {
	return fmt.Sprintf("exit status %d\nstdout: %s\nstderr: %s", r.Code, r.Stdout, r.Stderr)
}

// In is the same machine, reporting to another test: a subtest.
func (m *Machine) In(t T) *Machine {
	sub := *m
	sub.t = t
	return &sub
}

// Run runs a command in the machine as root, in no unit, with a bare
// environment, for two minutes at most.
func (m *Machine) Run(args ...string) Result {
	m.t.Helper()
	return m.run("", args)
}

// Shell runs a script by `sh -ec` and ends the test if it fails. It returns
// its output without the last newline.
func (m *Machine) Shell(script string) string {
	m.t.Helper()
	result := m.Run("sh", "-ec", script)
	if result.Code != 0 {
		m.t.Fatalf("%s: script %q: %v", m.Suite, script, result)
	}
	return strings.TrimSuffix(result.Stdout, "\n")
}

// Write makes a file, and the folders above it, with a mode.
func (m *Machine) Write(path string, mode os.FileMode, text string) {
	m.t.Helper()
	result := m.run(text, []string{"install", "-D", "-m", strconv.FormatUint(uint64(mode.Perm()), 8), "/dev/stdin", path})
	if result.Code != 0 {
		m.t.Fatalf("%s: write %q: %v", m.Suite, path, result)
	}
}

// Path is where this host's processes reach a path in the machine.
func (m *Machine) Path(path string) string {
	return fmt.Sprintf("/proc/%d/root%s", m.leader, path)
}

// Exists reports whether something is at path, a dangling link included.
func (m *Machine) Exists(path string) bool {
	m.t.Helper()
	return m.Run("sh", "-c", `test -e "$1" || test -L "$1"`, "sh", path).Code == 0
}

func (m *Machine) run(stdin string, args []string) Result {
	m.t.Helper()
	enter := []string{"-t", strconv.Itoa(m.leader), "-m", "-u", "-i", "-n", "-p", "-C", "--", "timeout", "-k", "5", "120"}
	cmd := exec.Command("nsenter", append(enter, args...)...)
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"}
	cmd.Dir = "/"
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = 5 * time.Second // a daemon may have kept our pipes
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		m.t.Fatalf("%s: %q: %v", m.Suite, args, err)
	}
	return Result{stdout.String(), stderr.String(), exitCode(cmd.ProcessState)}
}

func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

// WaitFor asks again and again until the condition holds, and ends the test
// when it does not in time. What is asked is an outcome, never a delay.
func (m *Machine) WaitFor(what string, limit time.Duration, holds func() bool) {
	m.t.Helper()
	if !poll(limit, holds) {
		m.t.Fatalf("%s: not within %v: %s", m.Suite, limit, what)
	}
}

func poll(limit time.Duration, holds func() bool) bool {
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if holds() {
			return true
		}
	}
	return holds()
}
