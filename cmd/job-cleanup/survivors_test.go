package main

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"job-cleanup/pkg/journal"
)

// process starts a command that prints a number first, and returns both.
func process(t *testing.T, script string) (cmd *exec.Cmd, printed int) {
	t.Helper()
	cmd = exec.Command("/bin/sh", "-c", script)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	printed, err = strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	return cmd, printed
}

// TestSurvivorsAreNotOurs: of the processes in a unit, those of the hook's own
// pipe line are not the job's, nor is what is over already.
func TestSurvivorsAreNotOurs(t *testing.T) {
	// The hook's shell, with us as one of two processes below it.
	hook, us := process(t, "sleep 1000 & echo $!; exec 1>&-; sleep 1000 & wait")
	job, beside := process(t, "trap '' TERM; sleep 1000 & echo $!; exec 1>&-; wait")
	over, _ := process(t, "echo $$")
	waitForState(t, over.Process.Pid, 'Z')
	members := append(childrenOf(hook.Process.Pid), hook.Process.Pid, job.Process.Pid, beside, over.Process.Pid, 1<<30)
	if len(members) < 6 {
		t.Fatalf("the hook's processes are %v", members)
	}
	found := survivors{all: notOurs(members, us)}
	pids := map[int]string{}
	for _, one := range found.all {
		pids[one.pid] = one.name
	}
	if len(pids) != 2 || pids[job.Process.Pid] != "sh" || pids[beside] != "sleep" {
		t.Errorf("survivors %v, want %d and %d", pids, job.Process.Pid, beside)
	}
	killAndReap(t, beside, job)
	if left := found.left(); left.any() {
		t.Errorf("left are %v", left.all)
	}
	if reused := (survivors{all: []survivor{{pid: os.Getpid(), start: 1}}}).left(); reused.any() {
		t.Error("another process with the same number counts")
	}
}

// TestFamilyAsksOnce: a job that leaves a long line of processes does not use up
// the time of the hook.
func TestFamilyAsksOnce(t *testing.T) {
	const length, hook = 5000, 10_000
	asked := 0
	parent := func(pid int) int {
		asked++
		switch pid {
		case hook:
			return 1
		case hook + 10: // a ring, as if numbers were given out again meanwhile
			return hook + 11
		}
		return pid - 1
	}
	f := family{top: hook, parent: parent, known: map[int]bool{}}
	for pid := 2; pid < 2+length; pid++ {
		back := length + 3 - pid // the youngest first
		if f.has(back) {
			t.Fatalf("%d is the hook's", back)
		}
	}
	for pid, want := range map[int]bool{hook: true, hook + 1: true, hook + 2: true, hook + 10: false, hook + 11: false} {
		for range 2 {
			if f.has(pid) != want {
				t.Errorf("%d: %v", pid, !want)
			}
		}
	}
	if asked > length+10 {
		t.Errorf("asked %d times for the parents of %d processes", asked, length)
	}
}

// killAndReap ends a process and its child.
func killAndReap(t *testing.T, child int, cmd *exec.Cmd) {
	t.Helper()
	if p, err := os.FindProcess(child); err == nil {
		_ = p.Kill()
	}
	_ = cmd.Wait() // its shell waits for it
}

func waitForState(t *testing.T, pid int, want byte) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if state, _ := stateOf(pid); state == want {
			return
		}
	}
	t.Fatalf("process %d never is %c", pid, want)
}

func TestSurvivorsAreTold(t *testing.T) {
	me, ok := look(os.Getpid())
	if !ok {
		t.Fatal("we can't see ourselves")
	}
	me.name = "a\nb\xff"
	many := make([]survivor, survivorsNamed+3)
	for i := range many {
		many[i] = me
	}
	for want, v := range map[string]survivors{
		`1 process of the job still runs (` + itoa(me.pid) + ` "a\nb\xff"): systemd ends them after the hook; have the job wait for them when it gets SIGTERM, or set KillSignal=SIGKILL`: {all: many[:1]},
		"with KillMode=control-group":                                 {all: many[:2], killMode: "mixed"},
		"2 processes of the job":                                      {all: many[:2], killMode: "process"},
		"KillMode=none spares them, KillMode=control-group ends them": {all: many, killMode: "none"},
		"3 more): SendSIGKILL=no spares them":                         {all: many, spared: true},
	} {
		var rec journal.Record
		v.tell(&rec)
		if !strings.Contains(rec.Detail, want) || rec.Survivors != len(v.all) || rec.Priority != journal.Notice {
			t.Errorf("%+v, want %q", rec, want)
		}
	}
	rec := journal.Record{Priority: journal.Warning}
	survivors{}.tell(&rec)
	if rec.Detail != "" || rec.Survivors != 0 || rec.Priority != journal.Warning {
		t.Errorf("none: %+v", rec)
	}
}
