package secret

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	maxSize  = 64 << 10 // bytes of a secret
	maxLinks = 40       // links followed to one file, as the kernel does
)

var errNotRegular = errors.New("not a regular file")

const plain = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC

// openPlain opens a path whose last component is not a link, without waiting
// for a FIFO.
func openPlain(path string) (*os.File, error) {
	fd, err := openat(unix.AT_FDCWD, path, plain, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// openThrough opens an absolute path and follows links of the trusted owners
// only: /var/run and a container's mounted secrets are links, but one that a
// job put there must not lead root to a file of root's.
func openThrough(path string, trusted []uint32) (*os.File, error) {
	fail := func(err error) (*os.File, error) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	dirs, err := newWalk()
	if err != nil {
		return fail(err)
	}
	defer dirs.close()
	rest, links := strings.Split(path, "/"), 0
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			dirs.up()
			continue
		}
		target, regular, err := dirs.look(name, trusted)
		if err != nil {
			return fail(err)
		}
		if target != "" {
			if links++; links > maxLinks {
				return fail(unix.ELOOP)
			}
			if strings.HasPrefix(target, "/") {
				dirs.top()
			}
			rest = append(strings.Split(target, "/"), rest...)
			continue
		}
		if len(rest) == 0 {
			if !regular { // opening a device may already do something
				return fail(errNotRegular)
			}
			fd, err := openat(dirs.fd(), name, plain, 0)
			if err != nil {
				return fail(err)
			}
			return os.NewFile(uintptr(fd), path), nil
		}
		if err := dirs.down(name); err != nil {
			return fail(err)
		}
	}
	return fail(unix.EISDIR)
}

// readableBy reports why a uid could not have read f itself. When we are that
// uid, the kernel has decided; else only its own files are certain.
func readableBy(f *os.File, uid uint32) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	if uint32(os.Geteuid()) != uid && (st.Uid != uid || st.Mode&0o400 == 0) {
		return fmt.Errorf("uid %d may not read it: %w", uid, ErrForbidden)
	}
	return nil
}

// readText reads a small regular file, drops one newline at its end, and
// closes it.
func readText(f *os.File) (Text, error) {
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Text{}, err
	}
	if !info.Mode().IsRegular() {
		return Text{}, errNotRegular
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return Text{}, err
	}
	if len(text) > maxSize {
		return Text{}, fmt.Errorf("longer than %d bytes", maxSize)
	}
	return New(strings.TrimSuffix(string(text), "\n")), nil
}

func openat(dir int, name string, flags int, mode uint32) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags, mode)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}
