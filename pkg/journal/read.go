package journal

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"os/exec"
	"strings"
	"time"
)

// Reader reads the journal through journalctl, since the library for it needs
// cgo.
type Reader struct {
	Command string // the program; "" means /usr/bin/journalctl
	User    bool   // only the calling user's own entries
}

// Read returns the entries that match journalctl's arguments, such as
// "JOB_CLEANUP_UNIT=batch.service" or "--since=-7d", oldest first. The
// sequence ends with an error when journalctl fails or ctx ends.
func (j Reader) Read(ctx context.Context, args ...string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		cmd := j.command(ctx, args)
		stderr := new(bytes.Buffer)
		cmd.Stderr = stderr
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			yield(Entry{}, fmt.Errorf("read the journal: %w", err))
			return
		}
		broken, stopped := each(out, yield)
		if stopped {
			cancel()
		}
		err = cmd.Wait()
		switch {
		case stopped:
		case err != nil:
			yield(Entry{}, fmt.Errorf("read the journal: %w: %s", err, Escape(strings.TrimSpace(stderr.String()))))
		case broken != nil:
			yield(Entry{}, broken)
		}
	}
}

// Sync has what was just sent written, so that Read finds it. It needs root. It
// is no error that it can't be done: the journal is older then.
func (j Reader) Sync(ctx context.Context) {
	_ = Reader{Command: j.Command}.command(ctx, []string{"--sync"}).Run()
}

func (j Reader) command(ctx context.Context, args []string) *exec.Cmd {
	fixed := []string{"--output=json", "--all", "--no-pager", "--quiet"}
	if j.User {
		fixed = append(fixed, "--user")
	}
	cmd := exec.CommandContext(ctx, or(j.Command, "/usr/bin/journalctl"), append(fixed, args...)...)
	cmd.Env = []string{"LC_ALL=C"}
	cmd.WaitDelay = time.Second
	return cmd
}

// each passes the entries on. After an error it drains the rest, so that
// journalctl can end and tell what was wrong.
func each(out io.Reader, yield func(Entry, error) bool) (broken error, stopped bool) {
	for e, err := range Decode(out) {
		if err != nil {
			_, _ = io.Copy(io.Discard, out) // only its end matters
			return err, false
		}
		if !yield(e, nil) {
			return nil, true
		}
	}
	return nil, false
}
