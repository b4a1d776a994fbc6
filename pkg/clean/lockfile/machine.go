package lockfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// machine is what a holder's record is compared with. Tests have their own.
type machine struct {
	root  string                               // stands before /proc
	alive func(pid int) (exists bool, _ error) // whether the id is in use
}

var local = machine{alive: exists}

// exists asks the kernel: /proc hides strangers' processes when it is mounted
// with hidepid or the unit has ProtectProc=.
func exists(pid int) (bool, error) {
	err := unix.Kill(pid, 0)
	switch {
	case err == nil, errors.Is(err, unix.EPERM):
		return true, nil
	case errors.Is(err, unix.ESRCH):
		return false, nil
	}
	return true, err
}

func (m machine) read(path string) (string, error) {
	text, err := os.ReadFile(filepath.Join(m.root, path))
	return strings.TrimSpace(string(text)), err
}

// boot is the id of the current boot: 32 hexadecimal digits.
func (m machine) boot() (string, error) {
	text, err := m.read("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	id := bootID(text)
	if id == "" {
		return "", fmt.Errorf("boot id %q is none", text)
	}
	return id, nil
}

// bootID brings a boot id into the form without dashes; "" is none.
func bootID(text string) string {
	id := strings.ToLower(strings.ReplaceAll(text, "-", ""))
	if len(id) != 32 || strings.Trim(id, "0123456789abcdef") != "" {
		return ""
	}
	return id
}

// host is the kernel's node name, "" when it is not known.
func (m machine) host() string {
	name, err := m.read("/proc/sys/kernel/hostname")
	if err != nil {
		return ""
	}
	return name
}

// start is when a process began, in clock ticks since boot: field 22 of
// proc_pid_stat(5). The name in field 2 may hold anything, also ") ".
func (m machine) start(pid int) (uint64, error) {
	text, err := m.read(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	const startTime = 22 - 3 // the first field behind the name is number 3
	if len(fields) <= startTime {
		return 0, fmt.Errorf("stat of process %d is cut off", pid)
	}
	return strconv.ParseUint(fields[startTime], 10, 64)
}
