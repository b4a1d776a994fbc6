package lockfile

import (
	"context"
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/beneath"
	"job-cleanup/pkg/residue"
)

// Find returns the lock file if its holder is dead. It takes no lock.
func (c *cleaner) Find(ctx context.Context) ([]residue.Residue, error) {
	var proof map[string]string
	if c.spec.Tracked != nil {
		proof = c.spec.Tracked.Proof
	}
	dir, f, err := c.open(ctx, proof)
	if residue.IsGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	defer f.Close()
	switch certainly, maybe := f.madeAfter(c.job.End); {
	case c.spec.Tracked != nil:
	case certainly:
		return nil, nil // a later invocation's, which has a plan of its own for it
	case maybe:
		return nil, residue.Errorf(residue.Retry, residue.Changed, "%q: nothing tells whether it is this invocation's or a later one's", c.spec.Value)
	}
	h, err := c.judge(f, proof)
	if err == nil {
		err = f.seenHeld()
	}
	if err = c.tolerate(err); err != nil {
		return nil, err
	}
	if identified(proof) {
		return []residue.Residue{*c.spec.Tracked}, nil
	}
	return c.found(f, h, proof)
}

// found is the residue for a file that was judged. A holder that was recorded
// before there was a file stays on record.
func (c *cleaner) found(f *file, h holder, recorded map[string]string) ([]residue.Residue, error) {
	boot, err := c.machine.boot()
	if err != nil {
		return nil, failed(err, "read the boot id")
	}
	r := residue.Residue{Type: "lockfile", Ref: c.path, Proof: f.proof(boot)}
	for _, key := range []string{"pid", "start", "pid-boot"} {
		if v := recorded[key]; v != "" {
			r.Proof[key] = v
		}
	}
	if h.pid != 0 {
		r.Proof["holder"] = strconv.Itoa(h.pid) // for people
	}
	r.Identify()
	return []residue.Residue{r}, nil
}

// identified reports whether a proof is of a file that was there.
func identified(proof map[string]string) bool { return proof["ino"] != "" }

// open opens the lock file and its folder and compares it with the proof, if
// there is one. The errors are *Error: Gone when it is not there, Lost when it
// is another one.
func (c *cleaner) open(ctx context.Context, proof map[string]string) (*os.File, *file, error) {
	if err := residue.Ended(ctx); err != nil {
		return nil, nil, err
	}
	if err := c.meant(identified(proof)); err != nil {
		return nil, nil, err
	}
	dir, leaf, err := beneath.Open(c.base, c.rel)
	if errors.Is(err, unix.ENOENT) {
		return nil, nil, c.absent(proof)
	}
	if err != nil {
		return nil, nil, failed(err, "reach %q", c.path)
	}
	f, err := c.examine(dir, leaf, proof)
	if err != nil {
		_ = dir.Close()
		return nil, nil, err
	}
	return dir, f, nil
}

// examine looks at leaf and compares it with the proof.
func (c *cleaner) examine(dir *os.File, leaf string, proof map[string]string) (*file, error) {
	boot, err := c.machine.boot()
	if err != nil {
		return nil, failed(err, "read the boot id")
	}
	if f := leftover(dir, leaf, proof, boot); f != nil {
		return f, nil
	}
	f, err := look(dir, leaf)
	if errors.Is(err, unix.ENOENT) {
		return nil, c.absent(proof)
	}
	if err != nil {
		return nil, failed(err, "look at %q", c.path)
	}
	if identified(proof) && !f.is(proof, boot) {
		_ = f.Close()
		return nil, residue.Errorf(residue.Lost, residue.Changed, "%q is not the file that was recorded", c.path)
	}
	return f, nil
}

// leftover is the recorded file where a removal that was cut off left it.
func leftover(dir *os.File, leaf string, proof map[string]string, boot string) *file {
	if !identified(proof) {
		return nil
	}
	f, err := look(dir, aside(leaf, proof))
	if err != nil {
		return nil
	}
	if !f.is(proof, boot) {
		_ = f.Close()
		return nil
	}
	return f
}
