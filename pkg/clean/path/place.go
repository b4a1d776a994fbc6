package path

import (
	"errors"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/residue"
)

// maxLinks is how many links one path may lead through, as in the kernel.
const maxLinks = 40

// place is how far a path leads: a folder that is there, and what is missing
// below it.
type place struct {
	fd   int      // the folder, O_PATH
	real []string // its path without links
	rest []string // the components that are missing, first the one not found in fd
}

func (p place) close() { unix.Close(p.fd) }

// reach opens a base. The way to it may lead over mounts and over links that
// are root's own, since nobody else can have laid them.
func (k kernel) reach(names []string) (place, error) {
	p := place{fd: -1}
	todo := slices.Clone(names)
	if err := p.begin(); err != nil {
		return p, err
	}
	for links := 0; len(todo) > 0; {
		fd, err := openat(p.fd, todo[0], pathDir)
		switch {
		case err == nil:
			p.enter(fd, todo[0])
			todo = todo[1:]
		case errors.Is(err, unix.ENOENT):
			p.rest = todo
			return p, nil
		case errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP):
			target, isLink, err := k.trustedLink(p, todo[0])
			if err != nil {
				p.close()
				return p, err
			}
			if !isLink { // a file: nothing can be below it
				p.rest = todo
				return p, nil
			}
			if links++; links > maxLinks {
				p.close()
				return p, refuse(residue.OutsideBase, "%q leads through too many links", join(names))
			}
			if target[0] == '/' {
				if err := p.begin(); err != nil {
					return p, err
				}
			}
			todo = append(linkNames(target), todo[1:]...)
		default:
			p.close()
			return p, osError(err, "open %q", join(append(p.real, todo[0])))
		}
	}
	return p, nil
}

// begin goes to the root of the file tree.
func (p *place) begin() error {
	fd, err := openat(unix.AT_FDCWD, "/", pathDir)
	if p.fd >= 0 {
		unix.Close(p.fd)
	}
	p.fd, p.real = fd, nil
	if err != nil {
		return osError(err, "open %q", "/")
	}
	return nil
}

// enter goes on to fd, which is name in the present folder.
func (p *place) enter(fd int, name string) {
	unix.Close(p.fd)
	p.fd = fd
	if name != ".." {
		p.real = append(slices.Clip(p.real), name)
	} else if len(p.real) > 0 {
		p.real = p.real[:len(p.real)-1]
	}
}

// linkNames are the components of a link's target. A ".." stays: the folders
// before it are open, so it is followed by descriptor.
func linkNames(target string) []string {
	var names []string
	for name := range strings.SplitSeq(target, "/") {
		if name != "" && name != "." {
			names = append(names, name)
		}
	}
	return names
}

// trustedLink reads a link on the way to a base. Only root's own links count,
// and only where nobody else could have put one: a world-writable folder can
// hold a hard link that somebody made to a link of root's.
func (k kernel) trustedLink(p place, name string) (target string, isLink bool, err error) {
	path := join(append(slices.Clip(p.real), name))
	fd, err := openat(p.fd, name, pathAny)
	if err != nil {
		return "", false, osError(err, "open %q", path)
	}
	defer unix.Close(fd)
	link, err := k.look(fd, "")
	if err != nil {
		return "", false, osError(err, "look at %q", path)
	}
	if link.mode != unix.S_IFLNK {
		return "", false, nil
	}
	dir, err := k.look(p.fd, "")
	if err != nil {
		return "", false, osError(err, "look at %q", join(p.real))
	}
	if link.uid != 0 || link.links != 1 || dir.uid != 0 || dir.perm&0o002 != 0 {
		return "", false, refuse(residue.OutsideBase, "the way to the base leads through the link %q of uid %d; only a link that root alone can have made is followed", path, link.uid)
	}
	buf := make([]byte, maxPath)
	n, err := unix.Readlinkat(fd, "", buf)
	if err != nil || n == 0 {
		return "", false, osError(err, "read the link %q", path)
	}
	return string(buf[:n]), true, nil
}

// step opens the folder name below a base: no link is followed, no mount
// crossed but the sandbox's transparent ones.
func (k kernel) step(parent int, name string, flags int) (int, error) {
	fd, err := k.openDir(parent, name, flags)
	if !errors.Is(err, unix.EXDEV) {
		return fd, err
	}
	top, err := openat(parent, name, pathDir)
	if err != nil {
		return -1, err
	}
	defer unix.Close(top)
	all, err := readMounts(k.mountinfo)
	if err != nil {
		return -1, unix.EXDEV
	}
	over, err := k.mountID(parent)
	if err != nil {
		return -1, err
	}
	id, err := k.mountID(top)
	if err != nil {
		return -1, err
	}
	if all[id].parent != over || !all.transparent(id) {
		return -1, unix.EXDEV
	}
	return openat(top, ".", flags)
}

// osError makes the cause of a failed look-up owed, with its reason.
func osError(err error, format string, args ...any) error {
	reason := residue.Other
	switch {
	case err == nil:
		err = errors.New("no answer")
	case errors.Is(err, errNoMountID):
		return residue.Errorf(residue.Refused, residue.Protected, format+": %w", append(args, err)...)
	case errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM):
		reason = residue.Permission
	case errors.Is(err, unix.EXDEV):
		reason, err = residue.MountPoint, errors.New("something is mounted there")
	case errors.Is(err, unix.EROFS):
		reason = residue.Immutable
	case errors.Is(err, unix.EBUSY):
		reason = residue.InUse
	case errors.Is(err, unix.ETIMEDOUT):
		reason = residue.Timeout
	}
	return residue.Errorf(residue.Retry, reason, format+": %w", append(args, err)...)
}
