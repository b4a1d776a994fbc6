package main

import (
	"context"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"job-cleanup/pkg/outcome"
)

// execSignalBased plus a signal is exec's exit code where it can't die by that
// signal itself.
const execSignalBased = 128

func execVerb() *verb {
	return &verb{
		name:  "exec",
		args:  "-- COMMAND [ARGUMENT]...",
		short: "run a command as the job, then clean up after it",
		long: "Runs COMMAND as a job of its own and cleans up when it is over, where nothing else guarantees a hook: " +
			"a container, a crontab, a script. What is to go is said by --plan, --step or --unit, and by track from inside; " +
			"what of that can't be read keeps COMMAND from running. " +
			"Signals are passed on to COMMAND; processes that it leaves behind are ended before the cleanup. " +
			"Ends exactly as COMMAND did: with its exit status, or by the same signal, whatever the cleanup met.",
		max: maxArguments,
		options: func(fs *pflag.FlagSet, o *options) {
			fs.SetInterspersed(false) // the first word that is no option begins the command
			fs.StringVar(&o.unit, "unit", "", "be a job of this `UNIT`: its sections, its specifiers")
			fs.BoolVar(&o.user, "user", false, "the unit belongs to the caller's user manager")
			whichSteps(fs, o)
			fs.StringVar(&o.timeout, "timeout", "", "clean for at most this `SPAN` instead of TimeoutSec=")
			fs.BoolVar(&o.force, "force", false, "also while the unit is active")
			whichFolders(fs, o)
			whichMetrics(fs, o)
		},
		run: runExec,
	}
}

// maxArguments is more than the kernel lets a command have.
const maxArguments = 1 << 30

func runExec(ctx context.Context, p *program, o *options) (int, error) {
	if len(o.args) == 0 {
		return 0, usagef("job-cleanup exec --step 'Path Remove=/var/tmp/batch' -- ./batch", "exec takes a command")
	}
	if o.timeout != "" {
		if _, err := o.limit(); err != nil {
			return 0, err
		}
	}
	runtime.LockOSThread() // the command is killed when the thread that starts it ends
	s := p.site(o)
	defer s.close()
	job, err := s.execJob(ctx)
	if err != nil {
		return p.notBegun(err), nil
	}
	if job.sub.busy() && !job.sub.inside && !o.force {
		p.warn("wait for it to end, or say --force", "%s is active: its job may still need what would be removed", job.sub.job.Unit)
		return execFailed, nil
	}
	if err := job.record(ctx); err != nil {
		return 0, err
	}
	v := newSupervisor(p)
	status := v.run(o.args, job.variables())
	job.sub.outcome = execOutcome(status)
	job.sub.job.End = time.Now()
	v.clean(job)
	s.close()
	return endAs(status), nil
}

// notBegun tells why the command was not run.
func (p *program) notBegun(err error) int {
	p.failed(nil, err)
	return execFailed
}

// execOutcome puts the end of a process into the service manager's words.
func execOutcome(status unix.WaitStatus) outcome.Outcome {
	switch {
	case status.Signaled() && status.CoreDump():
		return outcome.Outcome{Result: "core-dump", Code: "dumped", Status: signalName(status.Signal())}
	case status.Signaled():
		return outcome.Outcome{Result: "signal", Code: "killed", Status: signalName(status.Signal())}
	case status.ExitStatus() != 0:
		return outcome.Outcome{Result: "exit-code", Code: "exited", Status: itoa(status.ExitStatus())}
	}
	return outcome.Outcome{Result: outcome.Success, Code: "exited", Status: "0"}
}

// ignoredAtStart are the signals that whoever started us wants ignored, as
// nohup(1) does. It is asked before main has them delivered.
var ignoredAtStart = ignored(syscall.SIGHUP, syscall.SIGINT)
