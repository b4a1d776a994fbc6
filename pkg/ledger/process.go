package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Process is the identity of a process: its number is given again, its number
// and start time together are not.
type Process struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`           // clock ticks since boot, field 22 of proc_pid_stat(5)
	Space string `json:"space,omitempty"` // the PID namespace the number is of, as in /proc/self/ns/pid
}

// Self returns the identity of the calling process.
func Self() (Process, error) {
	start, err := ProcessStart(os.Getpid())
	return Process{PID: os.Getpid(), Start: start, Space: ProcessSpace()}, err
}

// ProcessSpace names the PID namespace we are in, "" when that can't be told.
func ProcessSpace() string {
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return space
}

// ProcessStart returns when a process started, in clock ticks since boot. No
// such process, or one that only waits to be reaped, is an error that wraps
// fs.ErrNotExist; any other error says nothing about it.
func ProcessStart(pid int) (uint64, error) {
	if pid <= 0 {
		return 0, fmt.Errorf("process %d: %w", pid, fs.ErrNotExist)
	}
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		// With hidepid= the folder of somebody else's process is not there.
		if errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			return 0, fmt.Errorf("process %d: %w", pid, fs.ErrNotExist)
		}
		return 0, fmt.Errorf("process %d lives but can't be read", pid)
	}
	if err != nil {
		return 0, err
	}
	state, start, err := parseStat(text)
	if err == nil && (state == 'Z' || state == 'X') {
		err = fs.ErrNotExist
	}
	if err != nil {
		return 0, fmt.Errorf("process %d: %w", pid, err)
	}
	return start, nil
}

// parseStat reads fields 3 and 22 of proc_pid_stat(5). Field 2 is the name in
// parentheses, in which anything may stand, so it ends at the last one.
func parseStat(text []byte) (state byte, start uint64, err error) {
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	const first = 3
	if len(fields) <= 22-first {
		return 0, 0, errors.New("stat has too few fields")
	}
	start, err = strconv.ParseUint(string(fields[22-first]), 10, 64)
	return fields[0][0], start, err
}
