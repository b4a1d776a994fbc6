// Package beneath reaches a file below a trusted folder without being led
// astray by whoever may write there.
//
// On the way to the base, mounts and the administrator's links are followed:
// /tmp is a mount, /var/lock a link. Below the base nothing is: a link is
// ELOOP, a mount EXDEV, and both are found by the kernel on directory
// descriptors, so that a path which changes meanwhile leads nowhere else.
package beneath

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// pathFlags opens a folder as a place only: it needs no read permission and
// wakes nothing up.
const pathFlags = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC

// Split finds the longest of the bases that path lies strictly below, and what
// remains of path there. Both are compared by whole components, as text; path
// and bases are absolute and clean, others never match, and "/" is no base.
func Split(path string, bases []string) (base, rel string, ok bool) {
	if !clean(path) {
		return "", "", false
	}
	for _, b := range bases {
		if !clean(b) || b == "/" || len(b) <= len(base) {
			continue
		}
		if r, below := strings.CutPrefix(path, b+"/"); below {
			base, rel, ok = b, r, true
		}
	}
	return base, rel, ok
}

func clean(path string) bool { return filepath.IsAbs(path) && filepath.Clean(path) == path }

// Open opens the folder that holds rel below base, as a place only (O_PATH),
// and returns it with the last component of rel, which is not looked at. The
// errors are the kernel's: ENOENT for what is missing, ENOTDIR for a file or a
// link in between, ELOOP for a link, EXDEV for a mount, EACCES.
func Open(base, rel string) (dir *os.File, leaf string, err error) {
	parent, leaf := filepath.Split(rel)
	if !filepath.IsLocal(rel) || leaf == "" || leaf == "." || leaf == ".." {
		return nil, "", fmt.Errorf("open %q below %q: %w", rel, base, unix.EINVAL)
	}
	root, err := reach(base)
	if err != nil {
		return nil, "", fmt.Errorf("open %q: %w", base, err)
	}
	if parent = strings.Trim(parent, "/"); parent == "" {
		return os.NewFile(uintptr(root), base), leaf, nil
	}
	defer unix.Close(root)
	fd, err := descend(root, parent)
	if err != nil {
		return nil, "", fmt.Errorf("open %q: %w", filepath.Join(base, parent), err)
	}
	return os.NewFile(uintptr(fd), filepath.Join(base, parent)), leaf, nil
}

// descend opens the folder rel below root in one call, or component by
// component where the kernel (before 5.6) or a filter lacks that call.
func descend(root int, rel string) (int, error) {
	how := &unix.OpenHow{
		Flags:   pathFlags,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV,
	}
	for range 16 { // EAGAIN: somebody renamed a folder on the way
		fd, err := unix.Openat2(root, rel, how)
		switch {
		case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
			return step(root, rel)
		case !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR):
			return fd, err
		}
	}
	return -1, unix.EAGAIN
}
