package beneath

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// step is descend without openat2.
func step(root int, rel string) (int, error) {
	mount, err := Mount(root)
	if err != nil {
		return -1, err
	}
	at, err := unix.Openat(root, ".", pathFlags, 0)
	for name := range strings.SplitSeq(rel, "/") {
		if err != nil {
			return -1, err
		}
		var next int
		next, err = unix.Openat(at, name, pathFlags|unix.O_NOFOLLOW, 0)
		_ = unix.Close(at)
		if err != nil {
			return -1, err
		}
		at = next
		var here uint64
		if here, err = Mount(at); err == nil && here != mount {
			err = unix.EXDEV
		}
		if err != nil {
			_ = unix.Close(at)
		}
	}
	return at, err
}

// maxLinks is the kernel's own limit for one path.
const maxLinks = 40

// reach opens the folder path. Links on the way are followed if only root or
// we ourselves can have put them there; others are ELOOP.
func reach(path string) (int, error) {
	at, err := unix.Open("/", pathFlags, 0)
	if err != nil {
		return -1, err
	}
	todo, links := split(path), 0
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		next, target, err := enter(at, name)
		if err == nil && target != "" {
			if links++; links > maxLinks {
				err = unix.ELOOP
			}
			todo = append(split(target), todo...)
			if next, err = restart(at, target, err); err == nil && next == at {
				continue
			}
		}
		_ = unix.Close(at)
		if err != nil {
			return -1, err
		}
		at = next
	}
	return at, nil
}

// restart says where a link's text is read from: the root folder or at itself.
func restart(at int, target string, err error) (int, error) {
	if err != nil {
		return -1, err
	}
	if strings.HasPrefix(target, "/") {
		return unix.Open("/", pathFlags, 0)
	}
	return at, nil
}

// enter opens the folder name in at, or returns the text of the link that
// stands there.
func enter(at int, name string) (fd int, target string, err error) {
	fd, err = unix.Openat(at, name, pathFlags|unix.O_NOFOLLOW, 0)
	if err == nil || !errors.Is(err, unix.ENOTDIR) && !errors.Is(err, unix.ELOOP) {
		return fd, "", err
	}
	link, err := unix.Openat(at, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, "", err
	}
	defer unix.Close(link)
	target, err = read(at, link)
	return -1, target, err
}

// read returns the text of a link in the folder at, if it is to be trusted.
func read(at, link int) (string, error) {
	var st, dir unix.Stat_t
	if err := unix.Fstat(link, &st); err != nil {
		return "", err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return "", unix.ENOTDIR
	}
	if err := unix.Fstat(at, &dir); err != nil {
		return "", err
	}
	if !trusted(st, dir, uint32(unix.Geteuid())) {
		return "", unix.ELOOP
	}
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(link, "", buf)
	if err != nil {
		return "", err
	}
	if n == 0 || n == len(buf) {
		return "", unix.ENAMETOOLONG
	}
	return string(buf[:n]), nil
}

// trusted reports whether nobody but root, or uid for itself, can have put the
// link into the folder. In a folder that all may write to, a link of root's
// can be a hard link that somebody made to another one.
func trusted(link, dir unix.Stat_t, uid uint32) bool {
	if uid != 0 && link.Uid == uid {
		return true
	}
	return link.Uid == 0 && link.Nlink == 1 && dir.Uid == 0 && dir.Mode&0o002 == 0
}

func split(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}
