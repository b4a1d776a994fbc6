package aws

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"job-cleanup/pkg/beneath"
	"job-cleanup/pkg/residue"
)

// cleaner cleans one profile or one cache file.
type cleaner struct {
	spec      residue.Spec
	job       residue.Job
	now       func() time.Time
	ref       string // profile or cache file, as the plan names it
	path      string // of the file it stands in
	base, rel string // path in two: the folder to trust, and what lies below
	own       bool   // name, place or record say that it is this job's
}

var (
	_ residue.Prover   = (*cleaner)(nil)
	_ residue.Preparer = (*cleaner)(nil)
)

// bases are the folders that a job may keep its files in, its own ones aside.
var bases = []string{"/run", "/tmp", "/var/tmp"}

// protected folders hold nothing of a job's, whatever a plan says.
var protected = []string{"/bin", "/boot", "/dev", "/efi", "/etc", "/lib", "/lib32", "/lib64", "/libx32",
	"/proc", "/sbin", "/sys", "/usr", "/var/lib/job-cleanup"}

func open(spec residue.Spec, deps residue.Deps) (residue.Cleaner, error) {
	c := &cleaner{spec: spec, job: deps.Job, now: deps.Now, ref: spec.Value}
	if c.now == nil {
		c.now = time.Now
	}
	if spec.Tracked != nil {
		c.ref = spec.Tracked.Ref
	}
	if spec.Selector != removeProfile && spec.Selector != removeCache {
		return nil, residue.Errorf(residue.Refused, residue.Other, "no selector %q", spec.Selector)
	}
	if c.path = c.file(); c.path == "" {
		return nil, residue.Errorf(residue.Refused, residue.Unset, "no File= is set, and the home folder of the job's user is not known")
	}
	if err := c.place(); err != nil {
		return nil, err
	}
	_, _, inOwn := beneath.Split(c.path, c.job.Bases)
	c.own = inOwn || spec.Tracked != nil || carries(c.ref, c.job)
	if c.profile() {
		return c, c.named()
	}
	return c, nil
}

func (c *cleaner) profile() bool { return c.spec.Selector == removeProfile }

// file is the path of the file to work on, "" when it is not known.
func (c *cleaner) file() string {
	switch {
	case !c.profile():
		return c.ref
	case c.spec.Option("File") != "":
		return c.spec.Option("File")
	case c.job.User != nil && c.job.User.Home != "":
		return filepath.Join(c.job.User.Home, ".aws", "credentials")
	}
	return ""
}

// place checks where the file lies, by its text alone. A credentials file may
// lie wherever a plan says, since all that it loses is one section; so may a
// cache file in the folder that the AWS tools have for them.
func (c *cleaner) place() error {
	if !filepath.IsAbs(c.path) || filepath.Clean(c.path) != c.path || c.path == "/" {
		return residue.Errorf(residue.Refused, residue.OutsideBase, "%q is not an absolute, clean path", c.path)
	}
	if _, _, in := beneath.Split(c.path, protected); in {
		return residue.Errorf(residue.Refused, residue.Protected, "%q lies in a protected folder", c.path)
	}
	allowed := append(append(append([]string(nil), bases...), c.job.Bases...), c.spec.Options["Within"]...)
	var ok bool
	if c.base, c.rel, ok = beneath.Split(c.path, allowed); ok {
		return nil
	}
	dir, leaf := filepath.Split(c.path)
	if !c.profile() && !strings.HasSuffix(dir, "/.aws/cli/cache/") {
		return residue.Errorf(residue.Refused, residue.OutsideBase, "%q is not below an allowed folder; name one with Within=", c.path)
	}
	c.base, c.rel = filepath.Clean(dir), leaf
	return nil
}

// named checks that something says whose profile it is before it is looked at.
func (c *cleaner) named() error {
	switch {
	case c.ref == "" || strings.ContainsAny(c.ref, "[]\r\n\x00") || strings.TrimSpace(c.ref) != c.ref:
		return residue.Errorf(residue.Refused, residue.Other, "%q is no profile's name", c.ref)
	case !c.own && c.spec.Option("AccessKeyID") == "":
		return residue.Errorf(residue.Refused, residue.Protected,
			"nothing says that profile %q is this job's: put %%i into its name, or set AccessKeyID=", c.ref)
	}
	return nil
}

// Find looks for the copies.
func (c *cleaner) Find(ctx context.Context) ([]residue.Residue, error) {
	proof := map[string]string{}
	if c.spec.Tracked != nil {
		proof = c.spec.Tracked.Proof
	}
	copies, err := c.copies(ctx, proof)
	if residue.IsGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return c.ours(copies, proof)
}

// Remove removes one copy. What it was a copy of may live on; then the answer
// is of class Until.
func (c *cleaner) Remove(ctx context.Context, r residue.Residue) error {
	remove := c.removeCache
	if c.profile() {
		remove = c.removeProfile
	}
	err := remove(ctx, r.Proof)
	if (err == nil || residue.IsGone(err)) && r.Expires.After(c.now()) {
		until := residue.Errorf(residue.Until, residue.Other,
			"the local copy is gone, but a session can't be revoked; it ends by %s", r.Expires.UTC().Format(time.RFC3339))
		until.Until = r.Expires
		return until
	}
	return err
}

// Prove records the key while the job still runs. What is not there yet, or
// can't be read, is an intent, found by name later.
func (c *cleaner) Prove(ctx context.Context) (residue.Residue, error) {
	r := *c.spec.Tracked
	copies, err := c.copies(ctx, r.Proof)
	if err == nil && len(copies) == 1 {
		r = c.residue(copies[0])
	}
	r.Identify()
	return r, nil
}
