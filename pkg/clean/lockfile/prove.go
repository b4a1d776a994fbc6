package lockfile

import (
	"context"
	"strconv"
	"strings"

	"job-cleanup/pkg/beneath"
	"job-cleanup/pkg/residue"
)

// Prove records the file and its holder while the holder lives. A file that is
// not there yet is an intent.
func (c *cleaner) Prove(ctx context.Context) (residue.Residue, error) {
	r := residue.Residue{Type: "lockfile", Ref: c.path}
	if c.spec.Tracked != nil {
		r.Expires = c.spec.Tracked.Expires
	}
	boot, err := c.machine.boot()
	if err != nil {
		return r, failed(err, "read the boot id")
	}
	named, err := c.named()
	if err != nil {
		return r, err
	}
	h := holder{pid: named}
	dir, f, err := c.open(ctx, nil)
	switch {
	case err == nil:
		defer dir.Close()
		defer f.Close()
		r.Proof = f.proof(boot)
		if h.pid == 0 {
			h, _ = c.parse(f)
		}
	case !residue.IsGone(err):
		return r, err
	}
	c.prove(&r, h, boot)
	r.Identify()
	return r, nil
}

// prove adds the holder to a residue. A holder on another host has an id that
// means nothing here.
func (c *cleaner) prove(r *residue.Residue, h holder, boot string) {
	if h.pid == 0 || h.host != "" && !strings.EqualFold(h.host, c.machine.host()) {
		return
	}
	if r.Proof == nil {
		r.Proof = map[string]string{}
	}
	r.Proof["pid"], r.Proof["pid-boot"] = strconv.Itoa(h.pid), boot
	if began, err := c.machine.start(h.pid); err == nil {
		r.Proof["start"] = strconv.FormatUint(began, 10)
	}
}

// Prepare records where the path lies, so that a place that is not mounted
// later is not taken for an absent lock.
func (c *cleaner) Prepare(context.Context) (map[string]string, error) {
	boot, err := c.machine.boot()
	if err != nil {
		return nil, failed(err, "read the boot id")
	}
	at, err := beneath.Nearest(c.path)
	if err != nil {
		return nil, failed(err, "look at the place of %q", c.path)
	}
	return map[string]string{"dev": at.Dev, "mount": at.Mount, "boot": boot}, nil
}
