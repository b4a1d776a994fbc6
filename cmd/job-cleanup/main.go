// Command job-cleanup removes what one job left behind, however that job
// ended. See the README for how systemd runs it.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// Room for two: the first stops new work, the second stops us.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	// A reader that went away must not end a cleanup. Ignoring the signal would
	// be inherited by the commands of a plan.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	p := &program{
		args:    commandLine(os.Args),
		env:     takeEnvironment(),
		stdin:   os.Stdin,
		stdout:  os.Stdout,
		stderr:  os.Stderr,
		signals: signals,
		uid:     os.Geteuid(),
		gid:     os.Getegid(),
		pid:     os.Getpid(),
	}
	os.Exit(p.run(context.Background()))
}
