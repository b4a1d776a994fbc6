package main

import (
	"os"
	"os/signal"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// orphanGrace is how long processes that the command left behind may take to
// end after they were asked to.
const orphanGrace = 5 * time.Second

// killGrace is how long killed processes may take to be gone. Those of other
// users can't be killed.
const killGrace = 2 * time.Second

// supervisor runs the processes of one job. It is their reaper, as process 1
// would be.
type supervisor struct {
	*program
	signals  chan os.Signal // to be passed on
	children chan os.Signal // SIGCHLD: one of several is enough
	terminal *terminal
	before   []int // children that we had already, as a shell's before its exec
}

func newSupervisor(p *program) *supervisor {
	v := &supervisor{program: p, signals: make(chan os.Signal, 32), children: make(chan os.Signal, 1), terminal: openTerminal()}
	v.before = childrenOf(p.pid)
	for _, sig := range passedOn {
		if ignoredAtStart[sig] {
			signal.Ignore(sig) // so that the command ignores it too
		} else {
			signal.Notify(v.signals, sig)
		}
	}
	signal.Notify(v.children, unix.SIGCHLD)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		p.warn("kill them by hand where the command may leave some", "processes that the command leaves behind can't be ended: %v", err)
	}
	return v
}

// run runs the command until it and all that it left behind is over.
func (v *supervisor) run(args, env []string) unix.WaitStatus {
	foreground := v.terminal.ours()
	pid, err := spawn(args, env, v.terminal)
	if err != nil {
		if foreground {
			v.terminal.give(unix.Getpgrp())
		}
		v.warn("name a command that can be executed; its arguments are words of their own", "%s: %v", args[0], err)
		return exited(cannotStart(err))
	}
	status := v.watch(pid, func(sig unix.Signal) { v.pass(pid, sig) }, foreground)
	if foreground {
		v.terminal.give(unix.Getpgrp())
	}
	v.endOrphans()
	return status
}

// pass hands a signal on. To stop and go on is for all that the command runs,
// as on a terminal.
func (v *supervisor) pass(pid int, sig unix.Signal) {
	if sig == unix.SIGTSTP || sig == unix.SIGCONT {
		pid = -pid
	}
	_ = unix.Kill(pid, sig)
}

// watch passes signals on and reaps until a process is over.
func (v *supervisor) watch(pid int, pass func(unix.Signal), foreground bool) unix.WaitStatus {
	for {
		for {
			status, who, ok := reap()
			if !ok {
				break
			}
			if who == pid && !status.Stopped() {
				return status
			}
			if who == pid && foreground {
				v.stopped(pid)
			}
		}
		select {
		case sig := <-v.signals:
			pass(sig.(unix.Signal))
		case <-v.children:
		}
	}
}

// reap takes one child that ended or was stopped; not ok when there is none
// just now.
func reap() (status unix.WaitStatus, pid int, ok bool) {
	for {
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG|unix.WUNTRACED, nil)
		if err == unix.EINTR {
			continue
		}
		return status, pid, err == nil && pid > 0
	}
}

// stopped lets the shell that started us see that the command was stopped on
// its terminal, and gives the terminal back when we go on in the foreground.
func (v *supervisor) stopped(pid int) {
	v.terminal.give(unix.Getpgrp())
	_ = unix.Kill(v.pid, unix.SIGSTOP)
	if v.terminal.ours() {
		v.terminal.give(pid)
	}
	_ = unix.Kill(-pid, unix.SIGCONT)
}

// endOrphans ends what the command left running: asked first, then killed. Only
// our own children are signalled, whose numbers nobody else can get before
// they are reaped; the children of those become ours in turn.
func (v *supervisor) endOrphans() {
	asked := map[int]bool{}
	sig, over := unix.SIGTERM, time.NewTimer(orphanGrace)
	defer over.Stop()
	look := time.NewTicker(50 * time.Millisecond) // an orphan of an orphan comes without a signal
	defer look.Stop()
	for {
		left := v.orphans()
		if len(left) == 0 {
			return
		}
		for _, pid := range left {
			if !asked[pid] {
				asked[pid] = true
				_ = unix.Kill(pid, sig)
				_ = unix.Kill(pid, unix.SIGCONT)
			}
		}
		select {
		case <-v.children:
		case <-look.C:
			continue
		case s := <-v.signals:
			if s != unix.SIGTERM && s != unix.SIGINT && s != unix.SIGHUP {
				continue
			}
			over.Reset(0) // whoever wants us to hurry
			continue
		case <-over.C:
			if sig == unix.SIGKILL {
				v.warn("root may kill them: pgrep -P "+itoa(v.pid)+" -a lists them", "%d processes of the job can't be ended", len(left))
				return
			}
			sig, asked = unix.SIGKILL, map[int]bool{}
			over.Reset(killGrace)
		}
	}
}

// orphans reaps what is over and lists our other children.
func (v *supervisor) orphans() []int {
	for {
		if _, _, ok := reap(); !ok {
			break
		}
	}
	return slices.DeleteFunc(childrenOf(v.pid), func(pid int) bool { return slices.Contains(v.before, pid) })
}

// clean runs the cleanup in a process of its own, so that even its crash can't
// change how we end. The first two signals ask it to stop; a third kills it.
func (v *supervisor) clean(job *execJob) {
	v.settleSignals()
	pid, err := job.startCleaner()
	if err != nil {
		v.warn(sweepLater, "the cleanup can't be started; what is owed stays owed: %v", err)
		return
	}
	asked := 0
	status := v.watch(pid, func(sig unix.Signal) {
		if sig != unix.SIGTERM && sig != unix.SIGINT && sig != unix.SIGHUP && sig != unix.SIGQUIT {
			return
		}
		if asked++; asked > 2 {
			_ = unix.Kill(pid, unix.SIGKILL)
		} else {
			_ = unix.Kill(pid, unix.SIGTERM)
		}
	}, false)
	switch {
	case status.Exited() && status.ExitStatus() == exitUsage:
		v.warn("mend that; job-cleanup run with the same --plan and --step then removes what is named", "nothing was cleaned")
	case status.Signaled() || status.ExitStatus() != 0:
		v.warn(sweepLater, "the cleanup was cut off (%s); what is not done stays owed", describeEnd(status))
	}
}

// sweepLater is what to do about what is owed.
const sweepLater = "job-cleanup sweep takes it later"

// settleSignals forgets the signals that were meant for the command.
func (v *supervisor) settleSignals() {
	for {
		select {
		case <-v.signals:
		default:
			return
		}
	}
}

// describeEnd is a wait status for people.
func describeEnd(status unix.WaitStatus) string {
	if status.Signaled() {
		return "signal " + signalName(status.Signal())
	}
	return "status " + itoa(status.ExitStatus())
}
