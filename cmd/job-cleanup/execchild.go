package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// usualPath is where commands are looked for when PATH is not set.
const usualPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// lookCommand finds a command as execvp(3) does.
func lookCommand(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	if path == "" {
		path = usualPath
	}
	err := error(unix.ENOENT)
	for _, folder := range filepath.SplitList(path) {
		file := filepath.Join(folder, name)
		if folder == "" || folder == "." {
			file = "./" + name
		}
		info, statErr := os.Stat(file)
		if statErr != nil || info.IsDir() {
			continue
		}
		if unix.Access(file, unix.X_OK) == nil {
			return file, nil
		}
		err = unix.EACCES
	}
	return "", err
}

// spawn starts a command with our standard streams, in a process group of its
// own. It is killed when we are: what the ledger calls over must be over.
// A file without "#!" is a shell script, as for execvp(3).
func spawn(args, env []string, terminal *terminal) (int, error) {
	file, err := lookCommand(args[0], lookupIn(env, "PATH"))
	if err != nil {
		return 0, err
	}
	attr := &syscall.ProcAttr{Env: env, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}}
	if terminal.ours() {
		attr.Sys.Foreground, attr.Sys.Ctty = true, terminal.fd
	}
	pid, err := syscall.ForkExec(file, args, attr)
	if errors.Is(err, unix.ENOEXEC) {
		pid, err = syscall.ForkExec("/bin/sh", append([]string{"sh", file}, args[1:]...), attr)
	}
	return pid, err
}

// lookupIn reads a variable of an environment in the form NAME=VALUE.
func lookupIn(env []string, name string) string {
	for _, pair := range env {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}

// cannotStart is the exit code for a command that could not be started.
func cannotStart(err error) int {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return execNotFound
	}
	return execCannot
}

// exited is the wait status of a process that exited with a code.
func exited(code int) unix.WaitStatus { return unix.WaitStatus(code << 8) }

// childrenOf lists the processes whose parent is pid, those that only wait to
// be reaped left out.
func childrenOf(pid int) []int {
	folders, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var all []int
	for _, folder := range folders {
		child, err := strconv.Atoi(folder.Name())
		if err != nil {
			continue
		}
		if state, parent := stateOf(child); parent == pid && state != 'Z' && state != 'X' {
			all = append(all, child)
		}
	}
	return all
}

func parentOf(pid int) int {
	_, parent := stateOf(pid)
	return parent
}

// stateOf reads fields 3 and 4 of proc_pid_stat(5); the parent is 0 when there
// is no such process. Field 2 is a name in parentheses in which anything may
// stand, so it ends at the last one.
func stateOf(pid int) (state byte, parent int) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 2 {
		return 0, 0
	}
	parent, _ = strconv.Atoi(string(fields[1]))
	return fields[0][0], parent
}

func absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

func itoa(n int) string { return strconv.Itoa(n) }
