// Package path removes files, folders and mounts that a job left behind.
//
// What may go: only what lies strictly below a base (/tmp, /var/tmp, /run, a
// folder of the job's own, or one that Within= names) and is no protected
// folder of the system nor a home. To reach a base, mounts and root's own
// links are followed; below it nothing is: every component is opened by
// descriptor, without links, on the same mount. Only folders are ever opened.
//
// What counts as the same thing: device, inode and birth time, and in another
// boot inode, birth time and mount point. What can't be proven so is left
// alone.
package path

import (
	"context"
	"fmt"
	"sync"
	"time"

	"job-cleanup/pkg/residue"
)

// The residue types.
const (
	typePath  = "path"
	typeMount = "mount"
)

// Kind is the path kind. Mounts go before paths, so that a tree which holds
// one can go whole.
var Kind = &residue.Kind{
	Name:  "path",
	Local: true,
	Doc:   "Removes files and folder trees, and unmounts what the job mounted.",
	Selectors: []residue.Selector{
		{
			Key: "Unmount", Type: typeMount, Value: residue.Path, Phase: residue.Data, Rank: 0, Done: "unmounted",
			Doc:     "A mount point strictly below a base, named exactly. What is mounted there is unmounted; the folder stays for Remove=. Not mounted any more is no error.",
			Example: "/run/batch-%i/scratch",
		},
		{
			Key: "Remove", Type: typePath, Value: residue.Glob, Phase: residue.Data, Rank: 1,
			Doc: "A file, link or folder tree strictly below a base. A link goes itself, never what it points to; links below a base are not followed; what is mounted in a tree stays and is owed. " +
				"Wildcards are those of glob(7), and match a leading dot only when the pattern writes it. A slash at the end means folders only. A pattern that takes everything in a folder which others use too, such as /tmp/*, is refused.",
			Example: "/var/tmp/batch-%i",
		},
	},
	Options: []residue.Option{
		{
			Key: "Exclude", Value: residue.Glob, Many: true,
			Doc:     "Never touched, neither itself nor anything below it; the folders above it stay too. Its wildcards match leading dots.",
			Example: "/var/tmp/batch-%i/keep",
		},
		{
			Key: "Within", Value: residue.Path, Many: true,
			Doc:     "One more base, never removed itself. Refused for folders of the system and for homes, but not for a folder in a home.",
			Example: "/srv/batch/scratch",
		},
		{
			Key: "Lazy", Value: residue.Bool, Default: "no",
			Doc:     "Detach a busy mount (MNT_DETACH); it ends when its last user does. Only for Unmount=.",
			Example: "yes",
		},
		{
			Key: "Defer", Value: residue.Bool, Default: "no",
			Doc: "Rename a folder tree aside in one call, to .job-cleanup~NAME~INODE-BIRTH beside it, and leave it to the sweep to delete at idle priority: the hook is done at once and the next job finds the name free. " +
				"It is owed with reason deferred until it is gone, which is no failure. " +
				"Removed at once all the same: what is no folder, with Exclude=, with something mounted in it, where a rename or the proof of identity is not to be had, where it can't be written down, " +
				"and where less than a tenth of the disk or of its inodes would be free if the next job took as much as this one. Only for Remove=; needs job-cleanup-sweep.timer.",
			Example: "yes",
		},
	},
	Open: open,
}

// cleaner finds and removes what one spec selects.
type cleaner struct {
	k       kernel
	job     residue.Job
	rules   *rules
	sort    string // typePath or typeMount
	pattern pattern
	base    base
	exclude []pattern
	tracked *residue.Residue
	facts   map[string]string
	lazy    bool
	seen    sync.Map // reference to identity
	most    int      // matches that one Find returns
	probe   probe

	deferred bool        // Defer=
	later    func() bool // a removal may be put off now; nil for never
	ordered  func(dev uint64) bool
	idle     bool        // removals take only what nobody else wants
	went     func(int64) // is told of what goes; nil for nobody
}

// mostMatches bounds what one Find returns. Anybody can make a pattern match
// any number of names in a shared folder.
const mostMatches = 100_000

// probe lets tests step in where another process could.
type probe struct {
	beforeEnter  func(path string)
	beforeRmdir  func(path string)
	beforeRemove func(path string)
	beforeAside  func(path string)
	afterAside   func(path string)
}

var (
	_ residue.Deferrer = (*cleaner)(nil)
	_ residue.Cleaner  = (*cleaner)(nil)
	_ residue.Preparer = (*cleaner)(nil)
	_ residue.Prover   = (*cleaner)(nil)
)

func open(spec residue.Spec, deps residue.Deps) (residue.Cleaner, error) {
	return newCleaner(spec, deps)
}

func newCleaner(spec residue.Spec, deps residue.Deps) (*cleaner, error) {
	c := &cleaner{
		k: running(), job: deps.Job, tracked: spec.Tracked, facts: spec.Facts, sort: typePath, most: mostMatches,
		later: deps.Later, ordered: deps.Ordered, idle: deps.Idle, went: deps.Gone,
	}
	if spec.Selector == "Unmount" || spec.Tracked != nil && spec.Tracked.Type == typeMount {
		c.sort = typeMount
	}
	var err error
	if c.lazy, err = yes(spec.Option("Lazy")); err != nil {
		return nil, refuse(residue.Other, "Lazy=: %w", err)
	}
	if c.deferred, err = yes(spec.Option("Defer")); err != nil {
		return nil, refuse(residue.Other, "Defer=: %w", err)
	}
	for _, text := range spec.Options["Exclude"] {
		p, err := parsePattern(text)
		if err != nil {
			return nil, refuse(residue.Other, "Exclude=: %w", err)
		}
		c.exclude = append(c.exclude, p)
	}
	if c.rules, err = newRules(deps.Job, spec.Options["Within"]); err != nil {
		return nil, err
	}
	if err := c.selects(spec); err != nil {
		return nil, err
	}
	c.base, err = c.rules.admitPattern(c.pattern)
	return c, err
}

// selects reads what the spec selects: a pattern, or one exact path.
func (c *cleaner) selects(spec residue.Spec) (err error) {
	switch {
	case spec.Tracked != nil:
		c.pattern, err = literalPattern(spec.Tracked.Ref)
	case c.sort == typeMount:
		c.pattern, err = literalPattern(spec.Value)
	default:
		c.pattern, err = parsePattern(spec.Value)
	}
	if err != nil {
		return refuse(residue.Protected, "%w", err)
	}
	return nil
}

// yes reads a Bool; unset is no.
func yes(text string) (bool, error) {
	switch text {
	case "", "no", "false", "off", "0":
		return false, nil
	case "yes", "true", "on", "1":
		return true, nil
	}
	return false, fmt.Errorf("%q is neither yes nor no", text)
}

// excluded reports whether an Exclude= names names, or a folder above it.
func (c *cleaner) excluded(names []string) bool {
	for _, p := range c.exclude {
		if len(p.parts) <= len(names) && p.covers(names, true) {
			return true
		}
	}
	return false
}

// grace is how long work may go on after its context ended: enough for a
// call that is under way, not for a file server that hangs.
const grace = 2 * time.Second

// within runs work, and comes back soon after the context ends even when a
// system call hangs.
func within(ctx context.Context, work func(context.Context) error) error {
	if err := residue.Ended(ctx); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- work(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case err := <-done:
		return err
	case <-late.C:
		return residue.Errorf(residue.Retry, residue.Timeout, "the file system does not answer: %w", context.Cause(ctx))
	}
}
