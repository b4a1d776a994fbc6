package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/ledger"
)

// deadServer mounts a file system on dir that never answers.
func deadServer(t *testing.T, dir string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root mounts")
	}
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skip("no /dev/fuse: ", err)
	}
	if err := unix.Mount("dead", dir, "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fd)); err != nil {
		unix.Close(fd)
		t.Skip("mount: ", err)
	}
	t.Cleanup(func() {
		unix.Close(fd) // ends all that waits for it
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// TestDeferOnDeadServer: a look at what stands aside ends though its file server
// does not answer, so that a sweep, or the next job, comes to the rest.
func TestDeferOnDeadServer(t *testing.T) {
	w := newSwept(t, func() {})
	base := t.TempDir()
	var records []ledger.Record
	for _, name := range []string{"a", "b", "c"} {
		spec := w.deferring(filepath.Join(base, name))
		spec.Options["Within"] = []string{base}
		spec.Identify()
		records = append(records, w.putOff(spec)...)
	}
	w.records(records...)
	l, err := w.store.Ledger(w.job.Unit, w.job.Invocation)
	if err != nil {
		t.Fatal(err)
	}
	state, err := l.Replay(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	deadServer(t, base)
	p := w.newPass(t.Context(), nil)
	p.budget.Call = 50 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	others, aside := p.apart(ctx, state, state.Owed())
	if ctx.Err() != nil || len(others) != 3 || len(aside) != 0 {
		t.Errorf("%d others and %d aside, %v", len(others), len(aside), ctx.Err())
	}
}
