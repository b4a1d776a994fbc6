package main

import (
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// execRun is one run of exec, as a process of its own.
type execRun struct {
	t              *testing.T
	dir            string
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
}

// newExec prepares an exec with a state folder of its own in a new folder.
func newExec(t *testing.T, args ...string) *execRun {
	t.Helper()
	r := &execRun{t: t, dir: t.TempDir()}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r.cmd = exec.Command(program, append([]string{"exec", "--state-dir", "state"}, args...)...)
	r.cmd.Args[0] = "job-cleanup"
	r.cmd.Dir = r.dir
	r.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir}
	noNohup()
	r.cmd.WaitDelay = time.Second // an orphan that was missed holds the streams
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	return r
}

// noNohup undoes a nohup that the tests run under, which exec keeps on purpose.
var noNohup = sync.OnceFunc(func() { signal.Notify(make(chan os.Signal, 1), unix.SIGHUP) })

func (r *execRun) start() {
	r.t.Helper()
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	late := time.AfterFunc(30*time.Second, func() { _ = r.cmd.Process.Kill() })
	r.t.Cleanup(func() {
		late.Stop()
		_ = r.cmd.Process.Kill()
	})
}

// wait returns how it ended: "exit 7" or "signal KILL".
func (r *execRun) wait() string {
	_ = r.cmd.Wait()
	status := r.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return "signal " + signalName(status.Signal())
	}
	return "exit " + strconv.Itoa(status.ExitStatus())
}

// waitForFile waits until the job wrote a whole line, and returns it.
func (r *execRun) waitForFile(name string) string {
	r.t.Helper()
	var text []byte
	waitUntil(r.t, name+" is there", func() bool {
		text, _ = os.ReadFile(filepath.Join(r.dir, name))
		return bytes.HasSuffix(text, []byte("\n"))
	})
	return strings.TrimSpace(string(text))
}

// owed are the ledgers that are left.
func (r *execRun) owed() []string {
	found, _ := filepath.Glob(filepath.Join(r.dir, "state", "*", "*", "*.jsonl"))
	return found
}

func waitUntil(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// Whatever becomes of the cleanup, how we end is how the job ended.
func TestCase11_jobEndingsAndCleanups(t *testing.T) {
	jobs := map[string]string{"exit 0": "exit 0", "exit 7": "exit 7", "exit 137": "exit 137", "signal KILL": "kill -KILL $$"}
	cleanups := map[string]struct{ step, text string }{
		"fine":     {"Command Run=/bin/true", "1 removed"},
		"failing":  {"Command Run=/bin/false", "1 owed"},
		"crashing": {"Command Run='/bin/sh -c \"kill -KILL $$PPID\"'", "the cleanup was cut off (signal KILL)"},
	}
	for want, script := range jobs {
		for name, c := range cleanups {
			t.Run(want+", cleanup "+name, func(t *testing.T) {
				t.Parallel()
				r := newExec(t, "--step", c.step, "--", "/bin/sh", "-c", script)
				r.start()
				if got := r.wait(); got != want {
					t.Errorf("ended with %s, the job with %s\n%s", got, want, &r.stderr)
				}
				if !strings.Contains(r.stderr.String(), c.text) || r.stdout.Len() > 0 {
					t.Errorf("no %q on stderr: %s\nstdout: %s", c.text, &r.stderr, &r.stdout)
				}
				if left := r.owed(); (len(left) == 0) != (name == "fine") {
					t.Errorf("owed afterwards: %q", left)
				}
			})
		}
	}
}

// The runtime has handlers of its own for these; we die by them all the same.
func TestExec_diesByTheSignalOfTheJob(t *testing.T) {
	for _, sig := range []string{"TERM", "INT", "HUP", "QUIT", "ABRT", "SEGV", "PIPE", "USR1", "ALRM", "TRAP"} {
		t.Run(sig, func(t *testing.T) {
			t.Parallel()
			r := newExec(t, "--", "/bin/sh", "-c", "ulimit -c 0; kill -"+sig+" $$")
			r.start()
			if got := r.wait(); got != "signal "+sig {
				t.Errorf("ended with %s\n%s", got, &r.stderr)
			}
		})
	}
}

// A signal that is sent to us is the job's to act on. The cleanup comes after
// it, undisturbed.
func TestExec_passesSignalsOn(t *testing.T) {
	for _, sig := range []string{"TERM", "INT", "HUP", "QUIT", "USR1", "USR2", "ALRM"} {
		t.Run(sig, func(t *testing.T) {
			t.Parallel()
			r := newExec(t, "--step", "Path Remove=/tmp/exec-test-"+sig+"-"+strconv.Itoa(os.Getpid()), "--", "/bin/sh", "-c",
				"trap 'mkdir $0; kill $!; exit 9' "+sig+"; sleep 1000 & echo ready >ready; wait", "/tmp/exec-test-"+sig+"-"+strconv.Itoa(os.Getpid()))
			r.start()
			r.waitForFile("ready")
			_ = r.cmd.Process.Signal(unix.SignalNum("SIG" + sig))
			if got := r.wait(); got != "exit 9" {
				t.Errorf("ended with %s\n%s", got, &r.stderr)
			}
			if !strings.Contains(r.stderr.String(), "1 removed") {
				t.Errorf("the cleanup said: %s", &r.stderr)
			}
		})
	}
}

// The job starts nothing: a shell that waits in vfork(2) for a child that is
// stopped before its exec is not stopped itself, but waits on.
func TestExec_stopsAndGoesOn(t *testing.T) {
	r := newExec(t, "--", "/bin/sh", "-c", "echo $$ >pid; exec sleep 1000")
	r.start()
	pid, _ := strconv.Atoi(r.waitForFile("pid"))
	isStopped := func() bool { state, _ := stateOf(pid); return state == 'T' }
	_ = r.cmd.Process.Signal(unix.SIGTSTP)
	waitUntil(t, "the job is stopped", isStopped)
	_ = r.cmd.Process.Signal(unix.SIGCONT)
	waitUntil(t, "the job goes on", func() bool { return !isStopped() })
	_ = r.cmd.Process.Signal(unix.SIGTERM)
	if got := r.wait(); got != "signal TERM" {
		t.Errorf("ended with %s\n%s", got, &r.stderr)
	}
}

// What the job leaves running is ended before its files go: a daemon that left
// the session, its child, and one that does not listen.
func TestExec_endsOrphans(t *testing.T) {
	r := newExec(t, "--", "/bin/sh", "-c", `
		setsid sh -c 'sleep 1000 & echo $! >child; echo $$ >daemon; wait' &
		setsid sh -c 'trap "" TERM; echo $$ >deaf; while :; do sleep 1; done' &
		while ! test -s child || ! test -s daemon || ! test -s deaf; do sleep 0.01; done
		exit 3`)
	r.start()
	if got := r.wait(); got != "exit 3" {
		t.Errorf("ended with %s\n%s", got, &r.stderr)
	}
	for _, name := range []string{"child", "daemon", "deaf"} {
		if pid, _ := strconv.Atoi(r.waitForFile(name)); pid == 0 || unix.Kill(pid, 0) == nil {
			t.Errorf("%s, process %d, lives", name, pid)
		}
	}
}

// When exec itself is killed, so is the job, and what it owes is known.
func TestExec_killedItself(t *testing.T) {
	tree := "/tmp/exec-test-killed-" + strconv.Itoa(os.Getpid())
	r := newExec(t, "--step", "Path Remove="+tree, "--", "/bin/sh", "-c", "mkdir "+tree+"; echo $$ >pid; exec sleep 1000")
	t.Cleanup(func() { _ = os.Remove(tree) })
	r.start()
	pid, _ := strconv.Atoi(r.waitForFile("pid"))
	_ = r.cmd.Process.Kill()
	r.wait()
	waitUntil(t, "the job is over", func() bool { state, _ := stateOf(pid); return state == 0 || state == 'Z' })
	if len(r.owed()) != 1 {
		t.Fatalf("owed: %q", r.owed())
	}
	sweep := exec.Command(r.cmd.Path, "sweep", "--state-dir", "state")
	sweep.Args[0], sweep.Dir = "job-cleanup", r.dir
	if out, err := sweep.CombinedOutput(); err != nil || len(r.owed()) != 0 {
		t.Errorf("sweep: %v, owed %q\n%s", err, r.owed(), out)
	}
	if _, err := os.Stat(tree); err == nil {
		t.Error("the tree is there")
	}
}
