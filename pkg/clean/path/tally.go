package path

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/residue"
)

// maxExamples bounds what an error tells by name.
const maxExamples = 16

// tally counts what went and what stays.
type tally struct {
	removed atomic.Int64
	told    func(int64) // of each more; nil for nobody

	mu       sync.Mutex
	counts   map[residue.Reason]int
	order    []residue.Reason // as they came up
	examples []string
}

// went counts entries that are gone.
func (t *tally) went(n int64) {
	t.removed.Add(n)
	if t.told != nil {
		t.told(n)
	}
}

func (t *tally) add(why residue.Reason, path, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[residue.Reason]int{}
	}
	if t.counts[why] == 0 {
		t.order = append(t.order, why)
	}
	t.counts[why]++
	if len(t.examples) < maxExamples {
		t.examples = append(t.examples, fmt.Sprintf("%q: %s", path, text))
	}
}

// fail notes that name in n stays, and why.
func (w *walk) fail(n *node, name []byte, err error) {
	n.stays.Store(true)
	why, text := w.k.explain(n.fd, string(name[:len(name)-1]), err)
	w.tally.add(why, w.pathOf(n, name), text)
}

// explain finds out what the kernel's answer means for an entry.
func (k kernel) explain(dir int, name string, err error) (residue.Reason, string) {
	f, lookErr := k.look(dir, name)
	owner := "its owner is not known"
	if lookErr == nil {
		owner = fmt.Sprintf("uid %d, mode %04o", f.uid, f.perm)
	}
	if above, err := k.look(dir, ""); err == nil {
		f.immutable = f.immutable || above.immutable
		owner += fmt.Sprintf(", in a folder of uid %d, mode %04o", above.uid, above.perm)
	}
	switch {
	case errors.Is(err, unix.EXDEV) || errors.Is(err, unix.EBUSY) && k.isMount(dir, name, f):
		return residue.MountPoint, "something is mounted there"
	case errors.Is(err, unix.EBUSY):
		return residue.InUse, "somebody has it open or runs on it"
	case errors.Is(err, unix.EROFS):
		return residue.Immutable, "the file system is read-only"
	case errors.Is(err, unix.EPERM) && f.immutable:
		return residue.Immutable, "immutable or append-only (chattr)"
	case errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES):
		return residue.Permission, owner
	case errors.Is(err, unix.ESTALE):
		return residue.Changed, "it was emptied, but something else took its name"
	case errors.Is(err, unix.ENOTEMPTY):
		return residue.StillWritten, "somebody keeps writing into it"
	}
	return residue.Other, err.Error()
}

// isMount reports whether something is mounted on an entry.
func (k kernel) isMount(dir int, name string, f facts) bool {
	if f.mountRoot {
		return true
	}
	fd, err := openat(dir, name, pathAny)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return errors.Is(k.sameMount(dir, fd), unix.EXDEV)
}

// pathOf is the path of an entry for messages.
func (w *walk) pathOf(n *node, name []byte) string {
	if n == w.root.up {
		return w.path
	}
	names := []string{string(name[:len(name)-1])}
	for ; n != w.root; n = n.up {
		names = append(names, string(n.name[:len(n.name)-1]))
	}
	var b strings.Builder
	b.WriteString(w.path)
	for i := len(names) - 1; i >= 0; i-- {
		b.WriteString("/" + names[i])
	}
	return b.String()
}

// result makes the answer for the whole tree.
func (w *walk) result() error {
	t := &w.tally
	removed := t.removed.Load()
	if w.gone {
		return nil
	}
	if err := residue.Ended(w.ctx); err != nil {
		e := residue.AsError(err)
		if w.waits && removed > 0 {
			return residue.Errorf(residue.Retry, residue.Deferred, "%q: %d entries deleted so far, the rest waits for the next sweep", w.path, removed)
		}
		return residue.Errorf(e.Class, e.Reason, "%q: %d entries removed so far: %w", w.path, removed, e.Err)
	}
	if len(t.order) == 0 { // what is left is excluded
		if removed == 0 {
			return residue.ErrGone
		}
		return nil
	}
	worst, stay := t.order[0], 0
	var parts []string
	for _, why := range t.order {
		stay += t.counts[why]
		parts = append(parts, fmt.Sprintf("%s %d", why, t.counts[why]))
		if t.counts[why] > t.counts[worst] {
			worst = why
		}
	}
	return residue.Errorf(residue.Retry, worst, "%q: %d removed, %d stay (%s): %s", w.path, removed, stay,
		strings.Join(parts, ", "), strings.Join(t.examples, "; "))
}
