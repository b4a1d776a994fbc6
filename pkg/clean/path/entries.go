package path

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Layout of struct linux_dirent64.
const (
	direntLen  = 16 // two bytes: length of the record
	direntType = 18
	direntName = 19 // ends in NUL
)

// batch is what one worker reads entries into.
type batch struct {
	buf   []byte
	order []entryAt
}

// entryAt is where an entry stands in a buffer.
type entryAt struct {
	inode uint64
	at    int
}

// sorted returns the entries of a batch in the order of their inodes. Disk
// file systems keep inodes in tables, and names by hash: in the order of names
// every removal would touch another block.
func (s *batch) sorted(read []byte) []entryAt {
	s.order = s.order[:0]
	for at := 0; at+direntName < len(read); {
		size := int(binary.NativeEndian.Uint16(read[at+direntLen:]))
		if size <= direntName || at+size > len(read) {
			break
		}
		s.order = append(s.order, entryAt{binary.NativeEndian.Uint64(read[at:]), at})
		at += size
	}
	slices.SortFunc(s.order, func(a, b entryAt) int { return cmp.Compare(a.inode, b.inode) })
	return s.order
}

// ordered reports whether the order of inodes is worth keeping: a file system
// in memory has no blocks.
func ordered(fd int) bool {
	var fs unix.Statfs_t
	err := unix.Fstatfs(fd, &fs)
	return err == nil && fs.Type != unix.TMPFS_MAGIC && fs.Type != unix.RAMFS_MAGIC
}

// entries goes through a buffer that getdents64 filled, without a copy.
type entries struct {
	buf []byte
	at  int
}

// next returns the next entry's name with its NUL, and its type; nil at the
// end. "." and ".." are left out.
func (e *entries) next() (name []byte, kind byte) {
	for e.at+direntName < len(e.buf) {
		size := int(binary.NativeEndian.Uint16(e.buf[e.at+direntLen:]))
		if size <= direntName || e.at+size > len(e.buf) {
			return nil, 0
		}
		name, kind := e.this()
		e.at += size
		if name != nil {
			return name, kind
		}
	}
	return nil, 0
}

// this returns the entry that is next; nil for "." and "..".
func (e *entries) this() (name []byte, kind byte) {
	record := e.buf[e.at:]
	name = record[direntName:binary.NativeEndian.Uint16(record[direntLen:])]
	if end := bytes.IndexByte(name, 0); end >= 0 {
		name = name[:end+1]
	}
	if dots := string(name); dots == ".\x00" || dots == "..\x00" || len(name) < 2 {
		return nil, 0
	}
	return name, record[direntType]
}

// readEntries fills buf from a folder; no bytes at its end.
func readEntries(fd int, buf []byte) (int, error) {
	for {
		n, err := unix.Getdents(fd, buf)
		if !errors.Is(err, unix.EINTR) {
			return max(n, 0), err
		}
	}
}

// unlinkInMemory is unlinkat for a file system that never waits for a device:
// then the scheduler need not hear of each call.
func unlinkInMemory(dir int, name []byte, flags int) syscall.Errno {
	_, _, errno := syscall.RawSyscall(unix.SYS_UNLINKAT, uintptr(dir), uintptr(unsafe.Pointer(&name[0])), uintptr(flags))
	if errno == unix.EINTR {
		return unlinkat(dir, name, flags)
	}
	return errno
}

// unlinkat is unix.Unlinkat for a name that ends in NUL already, which saves
// an allocation for every file.
func unlinkat(dir int, name []byte, flags int) syscall.Errno {
	for {
		_, _, errno := syscall.Syscall(unix.SYS_UNLINKAT, uintptr(dir), uintptr(unsafe.Pointer(&name[0])), uintptr(flags))
		if errno != unix.EINTR {
			return errno
		}
	}
}

// list returns the names in a folder that are wanted, and no more than a few
// above most.
func (k kernel) list(dir, most int, want func(string) bool) ([]string, error) {
	fd, err := openat(dir, ".", readDir)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var names []string
	buf := make([]byte, 32<<10)
	for {
		n, err := readEntries(fd, buf)
		if err != nil || n == 0 || len(names) > most {
			return names, err
		}
		e := entries{buf: buf[:n]}
		for name, _ := e.next(); name != nil; name, _ = e.next() {
			if text := string(name[:len(name)-1]); want(text) {
				names = append(names, text)
			}
		}
	}
}

func (k kernel) exists(dir int, name string) bool {
	_, err := k.look(dir, name)
	return err == nil
}

// permit gives the owner of a folder its own rights back. It works on a
// descriptor of the folder itself, so that nothing outside is ever changed.
// It reports whether it is worth trying again.
func (k kernel) permit(parent int, name string) bool {
	fd, err := k.step(parent, name, pathDir)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return k.permitFD(fd)
}

func (k kernel) permitFD(fd int) bool {
	f, err := k.look(fd, "")
	if err != nil || !f.isDir() || f.perm&0o700 == 0o700 || int(f.uid) != unix.Geteuid() {
		return false
	}
	mode := f.perm | 0o700
	if unix.Fchmodat(fd, "", mode, unix.AT_EMPTY_PATH) == nil { // Linux 6.6
		return true
	}
	return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), mode) == nil
}
