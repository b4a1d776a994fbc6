package command

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/residue"
)

// grace is how long a command may take to end after SIGTERM when its time is
// over, and hurry the same when we are told to stop ourselves.
const (
	grace = 2 * time.Second
	hurry = 300 * time.Millisecond
)

// Find returns the intent to run the command: what it cleans is not known.
func (c *cleaner) Find(ctx context.Context) ([]residue.Residue, error) {
	if err := residue.Ended(ctx); err != nil {
		return nil, err
	}
	r := residue.Residue{Type: "command", Ref: c.ref}
	r.Identify()
	return []residue.Residue{r}, nil
}

// Remove runs the command. Success is an exit status of 0 or one that
// SuccessExitStatus= names; all else is owed, a missing program too, since it
// may stand on a file system that is not mounted now.
func (c *cleaner) Remove(ctx context.Context, _ residue.Residue) error {
	if err := residue.Ended(ctx); err != nil {
		return err
	}
	path, err := c.lookUp()
	if err != nil {
		return err
	}
	out := &lines{to: c.output}
	defer out.flush()
	env := append([]string{"HOME=" + home(c.as, c.job)}, c.env...)
	cmd := &exec.Cmd{Path: path, Args: c.argv, Env: env, Dir: c.dir, Stdout: out, Stderr: out,
		SysProcAttr: c.attributes(), WaitDelay: hurry}
	limit := bounds(ctx, c.limit)
	if err := cmd.Start(); err != nil {
		return c.notStarted(err)
	}
	stopped := attend(ctx, cmd.Process.Pid, limit)
	err = cmd.Wait()
	if stopped != "" {
		return residue.Errorf(residue.Retry, stopped, "%q was stopped by us", c.name)
	}
	return c.judge(cmd.ProcessState, err)
}

func why(err error) residue.Reason {
	if errors.Is(err, context.DeadlineExceeded) {
		return residue.Deadline
	}
	return residue.Cancelled
}

// lookUp finds the program, and the folder to start it in.
func (c *cleaner) lookUp() (string, error) {
	if st, err := os.Stat(c.dir); err != nil {
		return "", c.failed("enter", bare(err))
	} else if !st.IsDir() {
		return "", c.failed("enter", unix.ENOTDIR)
	}
	if filepath.IsAbs(c.argv[0]) {
		return c.argv[0], nil
	}
	for dir := range strings.SplitSeq(searchPath, ":") {
		path := filepath.Join(dir, c.argv[0])
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", residue.Errorf(residue.Retry, residue.Other, "program %q is not in %s", c.name, searchPath)
}

// failed is an error of the working directory.
func (c *cleaner) failed(what string, err error) error {
	return residue.Errorf(residue.Retry, residue.Other, "%s working directory %q: %w", what, c.dir, err)
}

// bare leaves out the path of an error: it was expanded, and may be secret.
func bare(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

func (c *cleaner) notStarted(err error) error {
	reason := residue.Other
	if errors.Is(err, fs.ErrPermission) {
		reason = residue.Permission
	}
	return residue.Errorf(residue.Retry, reason, "start %q: %w", c.name, bare(err))
}

// attributes make the command the leader of a session and thus of a group,
// and somebody else where it has to be.
func (c *cleaner) attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if c.as != nil {
		attr.Credential = &syscall.Credential{Uid: c.as.UID, Gid: c.as.GID}
	}
	return attr
}

// judge reads how a command ended that was left to end by itself.
func (c *cleaner) judge(state *os.ProcessState, err error) error {
	if state == nil {
		return residue.Errorf(residue.Retry, residue.Other, "wait for %q: %w", c.name, err)
	}
	status, ok := state.Sys().(syscall.WaitStatus)
	switch {
	case ok && status.Signaled():
		return residue.Errorf(residue.Retry, residue.Other, "%q was killed by %s", c.name, unix.SignalName(status.Signal()))
	case !c.success[state.ExitCode()]:
		return residue.Errorf(residue.Retry, residue.Other, "%q ended with status %d", c.name, state.ExitCode())
	}
	return nil
}
