package lockfile

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"

	"job-cleanup/pkg/residue"
)

func inUse(format string, args ...any) error {
	return residue.Errorf(residue.Retry, residue.InUse, format, args...)
}

// dead returns nil only if the holder provably does not live any more.
func (m machine) dead(h holder) error {
	if h.host != "" && !strings.EqualFold(h.host, m.host()) {
		return inUse("its holder is on another host")
	}
	boot, err := m.boot()
	if err != nil {
		return residue.Errorf(residue.Retry, residue.Other, "read the boot id: %w", err)
	}
	if h.boot != "" && h.boot != boot {
		return nil
	}
	if alive, err := m.alive(h.pid); err != nil {
		return residue.Errorf(residue.Retry, residue.Other, "look for process %d: %w", h.pid, err)
	} else if !alive {
		return nil
	}
	if h.start == 0 {
		return inUse("process %d lives", h.pid)
	}
	began, err := m.start(h.pid)
	if errors.Is(err, fs.ErrNotExist) {
		return inUse("process %d lives, when it began is hidden", h.pid)
	}
	if err != nil {
		return residue.Errorf(residue.Retry, residue.Other, "read when process %d began: %w", h.pid, err)
	}
	if h.same(began) {
		return inUse("process %d lives", h.pid)
	}
	return nil
}

// wallClock is the smallest number that is taken for a time of day in a lock
// file: 2001 as seconds, and 115 days of uptime as ticks.
const wallClock = 1_000_000_000

// same reports whether the recorded start can mean a process that began at the
// given tick. What others wrote may be in seconds or milliseconds, or of the
// wall clock, which is set at will; then it tells nothing.
func (h holder) same(began uint64) bool {
	if h.exact {
		return h.start == began
	}
	if h.start >= wallClock {
		return true
	}
	near := func(ticks uint64) bool { return max(ticks, began)-min(ticks, began) <= 200 }
	return h.start == began || near(h.start*100) || near(h.start/10)
}

// judge decides about the file's holders: the one it names and the one that
// was recorded while it lived. Nil means that all are dead.
func (c *cleaner) judge(f *file, proof map[string]string) (holder, error) {
	recorded := holderOf(proof)
	if recorded.pid != 0 {
		if err := c.machine.dead(recorded); err != nil {
			return recorded, err
		}
	}
	if c.mode == flock {
		if f.link {
			return recorded, residue.Errorf(residue.Refused, residue.Protected, "%q is a link, which holds no file lock", c.path)
		}
		return recorded, nil
	}
	h, ok := c.parse(f)
	if !ok && recorded.pid != 0 {
		return recorded, c.local(f, recorded)
	}
	if !ok {
		return h, residue.Errorf(residue.Refused, residue.Protected,
			"%q names no holder that is understood; is it a file lock, say Holder=flock, does it begin with a process id, Holder=pid", c.path)
	}
	if err := c.local(f, h); err != nil {
		return h, err
	}
	if f.untouched(proof) {
		h = h.known(recorded, proof["boot"])
	}
	return h, c.machine.dead(h)
}

// parse reads the holder that the file names.
func (c *cleaner) parse(f *file) (holder, bool) {
	if f.link {
		return parseLink(string(f.content))
	}
	return parse(f.content, c.machine.host(), c.mode == pid)
}

// local refuses to judge by a process id that may be another machine's.
func (c *cleaner) local(f *file, h holder) error {
	if h.host != "" {
		return nil
	}
	remote, err := f.remote()
	if err != nil {
		return failed(err, "look at the file system of %q", c.path)
	}
	if remote {
		return inUse("%q lies on a shared file system and names no host", c.path)
	}
	return nil
}

// holderOf is the holder that Prove recorded or the job named.
func holderOf(proof map[string]string) holder {
	h := holder{boot: proof["pid-boot"]}
	h.pid, _ = processID(proof["pid"])
	var err error
	h.start, err = strconv.ParseUint(proof["start"], 10, 64)
	h.exact = err == nil
	return h
}

// known adds what was recorded about the holder of a file that was not written
// since: a process of the boot it was seen in, or of an earlier one.
func (h holder) known(recorded holder, seen string) holder {
	if h.boot == "" {
		h.boot = seen
	}
	if h.pid == recorded.pid && recorded.exact {
		h.start, h.exact = recorded.start, true
	}
	return h
}

// tolerate passes over a file system without file locks when the process id
// alone decides.
func (c *cleaner) tolerate(err error) error {
	if c.mode == pid && errors.Is(err, errNoLocks) {
		return nil
	}
	return err
}
