package command

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"job-cleanup/pkg/residue"
)

// family ignores SIGTERM in three generations, tells their ids and is ready.
const family = `#!/bin/sh
trap "" TERM
echo $$
if [ "$1" = 0 ]; then echo ready; else "$0" $(($1 - 1)) & fi
while :; do sleep 1; done
`

// script writes an executable file.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// printed collects output and tells when a line "ready" has come.
type printed struct {
	mu    sync.Mutex
	text  bytes.Buffer
	ready chan struct{}
}

func (p *printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if string(b) == "ready\n" {
		close(p.ready)
	}
	return p.text.Write(b)
}

// born returns the start time of a process as the kernel counts it, "" when it
// does not live.
func born(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return fields[19]
}

// living returns the processes whose ids were printed and their start times.
func (p *printed) living(t *testing.T) map[int]string {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[int]string{}
	for _, word := range strings.Fields(p.text.String()) {
		if pid, err := strconv.Atoi(word); err == nil {
			all[pid] = born(pid)
		}
	}
	return all
}

// ahead is a context that tells its deadline and never ends by it: a command
// has to be dead without that.
type ahead struct {
	context.Context
	deadline time.Time
}

func (a ahead) Deadline() (time.Time, bool) { return a.deadline, true }

func TestStoppedWithItsDescendants(t *testing.T) {
	tests := []struct {
		name   string
		limit  time.Duration // of the step; 0 is as long as the context
		cancel bool          // as soon as all are ready
		reason residue.Reason
	}{
		{"step's time is over", 0, false, residue.Timeout},
		{"our time is over", time.Hour, false, residue.Deadline},
		{"cancelled", time.Hour, true, residue.Cancelled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			total := 3 * time.Second
			for !stopFamily(t, total, tt.limit, tt.cancel, tt.reason) {
				if total *= 2; total > time.Minute {
					t.Fatal("the family is never ready before it is stopped")
				}
			}
		})
	}
}

// stopFamily runs a family until it is stopped and checks how. It returns false
// when this was a busy machine, and the time over before the family was there.
func stopFamily(t *testing.T, total, limit time.Duration, cancelled bool, reason residue.Reason) bool {
	out := &printed{ready: make(chan struct{})}
	spec := step(script(t, family) + " 2")
	spec.Timeout = cmp.Or(limit, total)
	c, err := Kind.Open(spec, residue.Deps{Env: env(), Output: out})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- c.Remove(ahead{ctx, time.Now().Add(total)}, residue.Residue{}) }()
	select {
	case <-out.ready:
	case <-done:
		return false
	}
	before := out.living(t)
	if len(before) != 3 {
		t.Fatalf("the family is %v", before)
	}
	if cancelled {
		cancel()
	}
	select {
	case err = <-done:
	case <-time.After(total + time.Minute):
		t.Fatal("not stopped")
	}
	if e := residue.AsError(err); e == nil || e.Class != residue.Retry || e.Reason != reason {
		t.Errorf("%v, want owed as %s", err, reason)
	}
	for pid, start := range before {
		if start == "" || !gone(pid, start) {
			t.Errorf("process %d that began at %q lives", pid, start)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return true
}

// gone waits for the kernel to take a killed process away.
func gone(pid int, start string) bool {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if born(pid) != start {
			return true
		}
	}
	return false
}

func TestLeftBehindIsKilled(t *testing.T) {
	out := &printed{ready: make(chan struct{})}
	c, err := Kind.Open(step(script(t, "#!/bin/sh\nsleep 600 &\necho $!\n")), residue.Deps{Env: env(), Output: out})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Remove(context.Background(), residue.Residue{}); err != nil {
		t.Fatal(err)
	}
	all := out.living(t)
	for pid, start := range all {
		if start != "" && !gone(pid, start) {
			t.Errorf("process %d lives", pid)
		}
	}
	if len(all) != 1 {
		t.Errorf("printed %v", all)
	}
}

// TestEscapedDescendantDoesNotHangUs keeps our pipe open from another session.
func TestEscapedDescendantDoesNotHangUs(t *testing.T) {
	out := &printed{ready: make(chan struct{})}
	text := "#!/bin/sh\nsetsid /bin/sh -c 'echo $$; echo ready; exec sleep 600' &\nwhile ! [ -e \"$1\" ]; do sleep 0.02; done\n"
	flag := filepath.Join(t.TempDir(), "flag")
	c, err := Kind.Open(step(script(t, text)+" "+flag), residue.Deps{Env: env(), Output: out})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- c.Remove(context.Background(), residue.Residue{}) }()
	<-out.ready
	for pid := range out.living(t) {
		defer syscall.Kill(pid, syscall.SIGKILL)
	}
	if err := os.WriteFile(flag, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("the command succeeded, but: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("a descendant in another session holds us up")
	}
}

func TestBounds(t *testing.T) {
	tests := []struct {
		limit, left, run, grace time.Duration
		reason                  residue.Reason
	}{
		{time.Minute, 0, time.Minute, grace, residue.Timeout}, // no deadline
		{time.Minute, time.Hour, time.Minute, grace, residue.Timeout},
		{10 * time.Second, 10 * time.Second, 7700 * time.Millisecond, grace, residue.Timeout},
		{time.Minute, 10 * time.Second, 7700 * time.Millisecond, grace, residue.Deadline},
		{time.Minute, time.Second, 750 * time.Millisecond, 200 * time.Millisecond, residue.Deadline},
	}
	for _, tt := range tests {
		ctx, cancel := context.WithCancel(context.Background())
		if tt.left > 0 {
			ctx, cancel = context.WithTimeout(context.Background(), tt.left)
		}
		got := bounds(ctx, tt.limit)
		cancel()
		near := func(a, b time.Duration) bool { return (a - b).Abs() < 100*time.Millisecond }
		if !near(got.run, tt.run) || !near(got.grace, tt.grace) || got.reason != tt.reason {
			t.Errorf("limit %v, left %v: %+v", tt.limit, tt.left, got)
		}
	}
}

// TestCase39_jobsEnvironmentHasNoRootRights runs what a job's environment can
// change as the job's user, when we are root.
func TestCase39_jobsEnvironmentHasNoRootRights(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to become somebody else")
	}
	user := &residue.Identity{UID: 4242, GID: 4343, Home: "/home/batch"}
	const who = `/bin/sh -c 'id -u; id -g; id -G; echo $HOME' x`
	line := strings.ReplaceAll(who, "$HOME", "$$HOME")
	marked := step(line)
	marked.FromEnv = true
	tests := []struct {
		name string
		spec residue.Spec
		job  *residue.Identity
		uid  string
	}{
		{"plan text alone, a hook without +", step(line), user, "4242"},
		{"plan text alone, a hook with +", step(line), user, "0"},
		{"a variable in it", step(line + " ${A}"), user, "4242"},
		{"a variable with a default", step(line + " ${NONE:-x}"), user, "4242"},
		{"a variable in its environment", step(line, "Environment=B=${A}"), user, "4242"},
		{"a variable that is passed", step(line, "PassEnvironment=LD_PRELOAD"), user, "4242"},
		{"marked by the plan", marked, user, "4242"},
		{"a job of root's", step(line + " ${A}"), &residue.Identity{}, "0"},
		{"a job of nobody known", step(line + " ${A}"), nil, "0"},
	}
	for _, tt := range tests {
		out, err := run(t, tt.spec, residue.Deps{Env: env("A=1"), Job: residue.Job{User: tt.job, FullRights: !strings.Contains(tt.name, "without +")}})
		lines := strings.Split(out, "\n")
		if err != nil || len(lines) < 4 || lines[0] != tt.uid {
			t.Errorf("%s: %q, %v; want uid %s", tt.name, out, err, tt.uid)
			continue
		}
		if tt.uid != "0" && (lines[1] != "4343" || lines[2] != "4343" || lines[3] != "/home/batch") {
			t.Errorf("%s: group, groups and home are %q", tt.name, lines[1:])
		}
	}
}
