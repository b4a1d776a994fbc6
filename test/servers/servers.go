//go:build linux

// Package servers runs real servers for tests: Vault, Consul, an S3 gateway,
// PostgreSQL, Redis and RabbitMQ, each on a free port of 127.0.0.1 with its
// data in a folder of its own.
//
// A server answers when its constructor returns, and is gone, with its data,
// when the test ends; when the test process is killed, it is killed too. Stop
// and Start in between are the server that is down and comes back: same address, same data,
// same credentials. Machines of package rig share the host's network, so what
// runs in them reaches these servers too. Where a server can't be had on this
// machine, the test is skipped with the reason.
package servers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"job-cleanup/test/rig"
)

const (
	startLimit = 90 * time.Second // seconds are usual; RabbitMQ on a busy machine is slow
	stopLimit  = 10 * time.Second // then it is killed
	askLimit   = 5 * time.Second  // for one question whether it answers
)

// Server is one server process. Its methods end the test when they fail.
type Server struct {
	t       rig.T
	name    string // of the server, for messages and its folder
	folder  string
	command func() *exec.Cmd            // made anew for each start
	answers func(context.Context) error // nil once the protocol is spoken
	end     syscall.Signal              // asks it to end with its data written

	pid    int
	exited chan struct{} // closed when the process is gone
}

// newServer makes a folder for a server, which goes when the test ends.
func newServer(t rig.T, name string) *Server {
	t.Helper()
	// Not t.TempDir, which other users, such as postgres, can't enter.
	folder, err := os.MkdirTemp("", "job-cleanup-"+name+"-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	s := &Server{t: t, name: name, folder: folder, end: syscall.SIGTERM}
	t.Cleanup(s.Stop)
	return s
}

// PID returns the id of the server's process, and of its process group; 0
// while it is stopped.
func (s *Server) PID() int { return s.pid }

// Start starts the server and waits until it answers.
func (s *Server) Start() {
	s.t.Helper()
	if s.pid != 0 {
		return
	}
	log, err := os.OpenFile(filepath.Join(s.folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	cmd := s.command()
	cmd.Dir = s.folder
	cmd.Stdout, cmd.Stderr = log, log
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	if err := s.spawn(cmd); err != nil {
		s.t.Fatalf("start %s: %v", s.name, err)
	}
	s.wait()
}

// spawn starts a process from a thread that lives as long as it does: the
// death signal comes when the thread that made the process is gone.
func (s *Server) spawn(cmd *exec.Cmd) error {
	started, exited := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is seen from what it did
			close(exited)
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	s.pid, s.exited = cmd.Process.Pid, exited
	return nil
}

// wait asks the server until it answers.
func (s *Server) wait() {
	s.t.Helper()
	var err error
	for deadline := time.Now().Add(startLimit); time.Now().Before(deadline); {
		ctx, cancel := context.WithTimeout(context.Background(), askLimit)
		err = s.answers(ctx)
		cancel()
		if err == nil {
			return
		}
		select {
		case <-s.exited:
			s.t.Fatalf("%s ended before it answered; its log:\n%s", s.name, s.log())
		case <-time.After(20 * time.Millisecond):
		}
	}
	s.t.Fatalf("%s does not answer: %v; its log:\n%s", s.name, err, s.log())
}

// log returns the last lines that the server wrote.
func (s *Server) log() string {
	text, _ := os.ReadFile(filepath.Join(s.folder, "log"))
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-30):], "\n")
}

// Stop ends the server and all that it started. Connections to it are refused
// from then on; what it keeps stays. A stopped server is no error.
func (s *Server) Stop() {
	if s.pid == 0 {
		return
	}
	_ = syscall.Kill(s.pid, s.end) // it may have ended by itself
	select {
	case <-s.exited:
	case <-time.After(stopLimit):
	}
	_ = syscall.Kill(-s.pid, syscall.SIGKILL) // and its children, if any is left
	<-s.exited
	s.pid = 0
}

// run runs a program to its end, with nice and its output in the error.
func run(folder string, env []string, args ...string) error {
	cmd := exec.Command("nice", args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	output, err := cmd.CombinedOutput()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(string(output)), "\n")
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, strings.Join(lines[max(0, len(lines)-15):], "\n"))
	}
	return nil
}
