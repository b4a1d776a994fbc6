// Package lockfile removes lock files whose holder is provably dead.
//
// That a lock file is old or that a job is over proves nothing: the next run
// may hold the lock by now. A holder is dead when its process id is not in use
// on this machine, when the process of that id began at another time than was
// recorded, or when it lived in another boot; or, for a lock that is a flock(2)
// on the file, when the lock is free. Everything else stays and is owed: a live
// process, another host, a file that nobody can read.
//
// Process ids are those of our own pid namespace. A lock that processes of
// other namespaces share (a folder mounted into containers) should be judged
// by Holder=flock.
package lockfile

import (
	"path/filepath"
	"strings"

	"job-cleanup/pkg/beneath"
	"job-cleanup/pkg/residue"
)

// Kind cleans lock files. Its proof of a residue has dev, ino, btime and mtime
// (nanoseconds) of the file, the sha256 of its content, the boot it was seen
// in and the mount it lies on; holder, the process id that was judged; and pid,
// start (clock ticks since boot) and pid-boot of a holder that Prove saw or the
// job named.
var Kind = &residue.Kind{
	Name:  "lockfile",
	Doc:   "Removes a lock file whose holder is provably dead.",
	Local: true,
	Selectors: []residue.Selector{{
		Key: "Remove", Type: "lockfile", Value: residue.Path, Phase: residue.Locks, Rank: 2,
		Doc: "The lock file: a regular file of at most 64 KiB, or a symbolic link whose text names the holder. " +
			"It must lie below /run, /tmp, /var/tmp, a folder of the job's own or Within=.",
		Example: "/run/lock/batch-%i.lock",
		Marks:   []residue.Mark{{Key: "pid", Doc: "The process that holds the lock, where the file does not say it."}},
	}},
	Options: []residue.Option{{
		Key: "Holder", Value: residue.String, Default: string(auto),
		Doc: "How the holder is known. auto: a process named in the file, which must be dead, and no file lock held. " +
			"pid: the same, and what stands behind the process id in the file need not be understood. " +
			"flock: the file lock alone (flock(2), fcntl(2)), whatever the file says; only for programs that look, " +
			"once they have the lock, whether the file still has its name.",
		Example: "flock",
	}, {
		Key: "Within", Value: residue.Path, Many: true,
		Doc:     "A further folder that lock files may be removed below.",
		Example: "/srv/batch/locks",
	}},
	Open: open,
}

// mode is a word of Holder=.
type mode string

const (
	auto  mode = "auto"
	pid   mode = "pid"
	flock mode = "flock"
)

// bases are the folders that lock files live in, the job's own ones aside.
// /run/lock and its old name are often mounts of their own.
var bases = []string{"/run", "/run/lock", "/var/run", "/var/lock", "/tmp", "/var/tmp"}

// protected folders are no place of locks, whatever Within= says.
var protected = []string{"/bin", "/boot", "/dev", "/efi", "/etc", "/lib", "/lib32", "/lib64", "/libx32",
	"/proc", "/sbin", "/sys", "/usr", "/var/lib/job-cleanup"}

// cleaner cleans one lock file.
type cleaner struct {
	spec      residue.Spec
	job       residue.Job
	path      string
	base, rel string // path in two: the folder to trust, and what lies below
	mode      mode
	machine   machine
	ordered   func(dev uint64) bool
}

var (
	_ residue.Prover   = (*cleaner)(nil)
	_ residue.Preparer = (*cleaner)(nil)
)

func open(spec residue.Spec, deps residue.Deps) (residue.Cleaner, error) {
	c := &cleaner{spec: spec, job: deps.Job, path: spec.Value, mode: mode(spec.Option("Holder")), machine: local, ordered: deps.Ordered}
	if spec.Tracked != nil {
		c.path = spec.Tracked.Ref
	}
	if c.mode == "" {
		c.mode = auto
	}
	if c.mode != auto && c.mode != pid && c.mode != flock {
		return nil, residue.Errorf(residue.Refused, residue.Other, "Holder=%q is none of auto, pid, flock", c.mode)
	}
	if _, err := c.named(); err != nil {
		return nil, err
	}
	return c, c.place()
}

// place checks where the path lies, by its text alone.
func (c *cleaner) place() error {
	if !filepath.IsAbs(c.path) || filepath.Clean(c.path) != c.path {
		return residue.Errorf(residue.Refused, residue.OutsideBase, "%q is not an absolute, clean path", c.path)
	}
	if _, _, in := beneath.Split(c.path, protected); in && !strings.HasPrefix(c.path, "/dev/shm/") {
		return residue.Errorf(residue.Refused, residue.Protected, "%q lies in a protected folder", c.path)
	}
	allowed := append(append(append([]string(nil), bases...), c.job.Bases...), c.spec.Options["Within"]...)
	var ok bool
	if c.base, c.rel, ok = beneath.Split(c.path, allowed); !ok {
		return residue.Errorf(residue.Refused, residue.OutsideBase, "%q is not below an allowed folder; name one with Within=", c.path)
	}
	return nil
}

// named is the process that the job named as the holder, 0 for none.
func (c *cleaner) named() (int, error) {
	if c.spec.Tracked == nil || c.spec.Tracked.Proof["pid"] == "" {
		return 0, nil
	}
	text := c.spec.Tracked.Proof["pid"]
	id, ok := processID(text)
	if !ok {
		return 0, residue.Errorf(residue.Refused, residue.Other, "pid %q is no process id", text)
	}
	return id, nil
}
