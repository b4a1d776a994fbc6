package path

import (
	"encoding/binary"
	"errors"
	"fmt"
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

// entries goes through a buffer that getdents64 filled, without a copy.
type entries struct {
	buf []byte
	at  int
}

// next returns the next entry's name with its NUL, and its type; nil at the
// end. "." and ".." are left out.
func (e *entries) next() (name []byte, kind byte) {
	for e.at+direntName < len(e.buf) {
		record := e.buf[e.at:]
		size := int(binary.NativeEndian.Uint16(record[direntLen:]))
		if size <= direntName || size > len(record) {
			return nil, 0
		}
		e.at += size
		name := record[direntName:size]
		for i, c := range name {
			if c == 0 {
				name = name[:i+1]
				break
			}
		}
		if dots := string(name); dots == ".\x00" || dots == "..\x00" || len(name) < 2 {
			continue
		}
		return name, record[direntType]
	}
	return nil, 0
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

// list returns the names in a folder.
func (k kernel) list(dir int) ([]string, error) {
	fd, err := openat(dir, ".", readDir)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var names []string
	buf := make([]byte, 32<<10)
	for {
		n, err := readEntries(fd, buf)
		if err != nil || n == 0 {
			return names, err
		}
		e := entries{buf: buf[:n]}
		for name, _ := e.next(); name != nil; name, _ = e.next() {
			names = append(names, string(name[:len(name)-1]))
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
