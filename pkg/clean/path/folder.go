package path

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/residue"
)

// enter opens a folder. It reports false when that can't be done, and then n
// has been told why.
func (w *walk) enter(n *node) bool {
	name := string(n.name[:len(n.name)-1])
	if w.probe.beforeEnter != nil {
		w.probe.beforeEnter(w.pathOf(n.up, n.name))
	}
	fd, err := w.k.openDir(n.up.fd, name, readDir)
	if errors.Is(err, unix.EACCES) && w.k.permit(n.up.fd, name) {
		fd, err = w.k.openDir(n.up.fd, name, readDir)
	}
	switch errnoOf(err) {
	case 0:
	case unix.ENOENT:
		return false
	case unix.ENOTDIR, unix.ELOOP: // not a folder any more: it goes as what it is
		if errno := w.unlink(n.up, n.name); errno != 0 {
			w.fail(n.up, n.name, errno)
		}
		return false
	case unix.EMFILE, unix.ENFILE:
		if n.up != w.root && w.moveUp(n.up, n.name) {
			return false
		}
		w.fail(n.up, n.name, err)
		return false
	default:
		w.fail(n.up, n.name, err)
		return false
	}
	n.fd = fd
	if len(w.homes) == 0 {
		return true
	}
	if f, err := w.k.look(fd, ""); err != nil || w.homes[inode{f.dev, f.ino}] {
		n.stays.Store(true)
		w.tally.add(residue.Protected, w.pathOf(n.up, n.name), "a home folder")
		return false
	}
	return true
}

// finish is called by whoever is done with a folder. The last one removes it,
// and is then done with a part of the folder above. It returns a folder that
// has to be read again.
func (w *walk) finish(n *node) *node {
	for {
		if n.open.Add(-1) > 0 {
			return nil
		}
		if w.leave(n) {
			n.open.Store(1)
			return n
		}
		up, root := n.up, n == w.root
		if n.fd >= 0 {
			unix.Close(n.fd)
		}
		if root {
			close(w.done)
			return nil
		}
		if n.stays.Load() {
			up.stays.Store(true)
		}
		n.recycle()
		n = up
	}
}

// leave removes a folder that is empty now. It reports true when the folder
// has to be read once more.
func (w *walk) leave(n *node) (again bool) {
	if n.fd < 0 {
		return false
	}
	if w.stop.Load() || w.ctx.Err() != nil { // the flag may come a moment later
		n.stays.Store(true)
		return false
	}
	if moved := w.moved.Load(); n == w.root && moved > n.moved {
		n.moved = moved
		return w.rewind(n)
	}
	if n.stays.Load() {
		return false
	}
	if w.probe.beforeRmdir != nil {
		w.probe.beforeRmdir(w.pathOf(n.up, n.name))
	}
	switch errno := w.rmdir(n); errno {
	case 0:
		w.tally.went(1)
		if n == w.root {
			w.gone = true
		}
	case unix.ENOENT:
		if n == w.root {
			w.gone = true
		}
	case unix.ENOTEMPTY, unix.EEXIST:
		if n.pass++; n.pass < passes && w.rewind(n) {
			n.moved = 0
			return true
		}
		n.stays.Store(true)
		w.fail(n.up, n.name, unix.ENOTEMPTY)
	default:
		n.stays.Store(true)
		w.fail(n.up, n.name, errno)
	}
	return false
}

// rmdir removes a folder by its name. The folder above belongs to the tree,
// unless n is its top.
func (w *walk) rmdir(n *node) syscall.Errno {
	if n == w.root { // somebody else's empty folder may have taken its name
		f, err := w.k.look(n.up.fd, string(n.name[:len(n.name)-1]))
		if err == nil && (f.dev != w.facts.dev || f.ino != w.facts.ino) {
			return unix.ESTALE
		}
	}
	errno := unlinkat(n.up.fd, n.name, unix.AT_REMOVEDIR)
	if errno == unix.EACCES && n != w.root && !n.up.chmods.Swap(true) && w.k.permitFD(n.up.fd) {
		errno = unlinkat(n.up.fd, n.name, unix.AT_REMOVEDIR)
	}
	return errno
}

// rewind begins another pass over a folder.
func (w *walk) rewind(n *node) bool {
	n.names, n.next = n.names[:0], 0
	_, err := unix.Seek(n.fd, 0, unix.SEEK_SET)
	return err == nil
}

// batch reads some entries and removes what is no folder. It reports false at
// the end of the folder.
func (w *walk) batch(n *node, s *batch) bool {
	buf := s.buf
	if n.depth > shareDepth {
		buf = buf[:deepBuffer]
	}
	got, err := readEntries(n.fd, buf)
	if err != nil && !errors.Is(err, unix.ENOENT) {
		w.fail(n.up, n.name, err)
		n.stays.Store(true)
	}
	if err != nil || got == 0 {
		return false
	}
	n.names, n.next = n.names[:0], 0
	w.tally.went(w.entries(n, s, buf[:got]))
	if n.depth <= shareDepth && got > bigBuffer/2 && len(s.buf) < hugeBuffer {
		s.buf = make([]byte, hugeBuffer)
	}
	return true
}

// entries deals with a batch of entries and returns how many it removed.
func (w *walk) entries(n *node, s *batch, read []byte) (removed int64) {
	if w.byNode {
		for _, p := range s.sorted(read) {
			one := entries{buf: read, at: p.at}
			if name, kind := one.this(); name != nil && !w.stop.Load() {
				removed += w.entry(n, name, kind)
			}
		}
		return removed
	}
	e := entries{buf: read}
	for name, kind := e.next(); name != nil && !w.stop.Load(); name, kind = e.next() {
		removed += w.entry(n, name, kind)
	}
	return removed
}

// entry removes one entry, or keeps it for later when it is a folder. It
// returns how many it removed.
func (w *walk) entry(n *node, name []byte, kind byte) int64 {
	if n.moved > 0 && !bytes.HasPrefix(name, []byte(w.token)) {
		return 0 // an earlier pass dealt with it
	}
	if len(n.watch) > 0 && w.excludes(n.watch, string(name[:len(name)-1])) {
		n.stays.Store(true)
		return 0
	}
	if kind == unix.DT_UNKNOWN {
		if f, err := w.k.look(n.fd, string(name[:len(name)-1])); err == nil && f.isDir() {
			kind = unix.DT_DIR
		}
	}
	if kind == unix.DT_DIR {
		n.names = append(n.names, name...)
		return 0
	}
	switch errno := w.unlink(n, name); errno {
	case 0:
		return 1
	case unix.EISDIR: // it became a folder meanwhile
		n.names = append(n.names, name...)
	default:
		w.fail(n, name, errno)
	}
	return 0
}

// unlink removes what is no folder, without opening it. Gone already is as
// good.
func (w *walk) unlink(n *node, name []byte) syscall.Errno {
	remove := unlinkat
	if !w.byNode {
		remove = unlinkInMemory
	}
	errno := remove(n.fd, name, 0)
	if errno == unix.EACCES && !n.chmods.Swap(true) && w.k.permitFD(n.fd) {
		errno = unlinkat(n.fd, name, 0)
	}
	if errno == unix.ENOENT {
		return 0
	}
	return errno
}

// moveUp renames a folder into the top of the tree, where a later pass finds
// it: however deep a tree is, few descriptors are open and no path is long.
func (w *walk) moveUp(n *node, name []byte) bool {
	if len(n.watch) > 0 || w.moved.Load() >= maxMoves {
		return false // what lies above an exclusion keeps its place
	}
	from := string(name[:len(name)-1])
	to := w.token + strconv.FormatInt(w.serial.Add(1), 10)
	err := unix.Renameat2(n.fd, from, w.root.fd, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EACCES) && (w.k.permit(n.fd, from) || w.k.permitFD(n.fd) || w.k.permitFD(w.root.fd)) {
		err = unix.Renameat2(n.fd, from, w.root.fd, to, unix.RENAME_NOREPLACE)
	}
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // no NOREPLACE here; nobody else knows the name
		err = unix.Renameat(n.fd, from, w.root.fd, to)
	}
	if err != nil {
		return false
	}
	w.moved.Add(1)
	return true
}

// newToken makes names that nobody guesses.
func newToken() string {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails
	return ".job-cleanup-" + hex.EncodeToString(b) + "-"
}
