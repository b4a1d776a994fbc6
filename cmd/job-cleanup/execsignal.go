package main

import (
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// passedOn are the signals that exec hands to its command. SIGKILL and SIGSTOP
// reach nobody but us; the command is killed with us.
var passedOn = []os.Signal{
	unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2,
	unix.SIGWINCH, unix.SIGALRM, unix.SIGTSTP, unix.SIGCONT,
}

// ignored are those of some signals that are ignored now.
func ignored(signals ...os.Signal) map[os.Signal]bool {
	all := map[os.Signal]bool{}
	for _, sig := range signals {
		if signal.Ignored(sig) {
			all[sig] = true
		}
	}
	return all
}

// signalName is a signal in the service manager's words: TERM, RTMIN+3.
func signalName(sig syscall.Signal) string {
	if name := unix.SignalName(sig); name != "" {
		return strings.TrimPrefix(name, "SIG")
	}
	const first = 34 // what the C library leaves of the real-time signals
	if sig >= first {
		return "RTMIN+" + strconv.Itoa(int(sig)-first)
	}
	return strconv.Itoa(int(sig))
}

// endAs ends the process as another one ended: by the same signal, or else
// with the exit code that it returns.
func endAs(status unix.WaitStatus) int {
	if !status.Signaled() {
		return status.ExitStatus()
	}
	sig := status.Signal()
	// The core, if there is one, is the command's.
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	restoreDefault(sig)
	_ = unix.Tgkill(unix.Getpid(), unix.Gettid(), sig)
	// Process 1 of a container does not die by a signal that it sends itself.
	return execSignalBased + int(sig)
}

// restoreDefault gives a signal the kernel's own effect. The runtime has
// handlers for SIGQUIT, SIGABRT, SIGSEGV and their like that signal.Reset
// leaves in place, and with them the process would exit instead of die.
func restoreDefault(sig syscall.Signal) {
	signal.Reset(sig)
	var action [64]byte // a struct sigaction of any architecture: SIG_DFL is 0
	const maskSize = 8
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&action)), 0, maskSize, 0, 0)
}

// terminal is our controlling terminal; nil when there is none.
type terminal struct{ fd int }

func openTerminal() *terminal {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return nil
	}
	return &terminal{fd}
}

// ours reports whether our process group is the one that the terminal belongs
// to now.
func (t *terminal) ours() bool {
	if t == nil {
		return false
	}
	group, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// give makes a process group the terminal's. Who does that from the background
// would be stopped, unless it ignores SIGTTOU.
func (t *terminal) give(group int) {
	if t == nil {
		return
	}
	signal.Ignore(unix.SIGTTOU)
	_ = unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, group)
}
