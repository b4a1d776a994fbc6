package secret

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// walk is a path of open folders, from the root to where we are.
type walk struct{ fds []int }

func newWalk() (*walk, error) {
	fd, err := openat(unix.AT_FDCWD, "/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return &walk{fds: []int{fd}}, err
}

func (w *walk) fd() int { return w.fds[len(w.fds)-1] }

func (w *walk) down(name string) error {
	fd, err := openat(w.fd(), name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err == nil {
		w.fds = append(w.fds, fd)
	}
	return err
}

func (w *walk) up() {
	if last := len(w.fds) - 1; last > 0 {
		unix.Close(w.fds[last])
		w.fds = w.fds[:last]
	}
}

func (w *walk) top() {
	for len(w.fds) > 1 {
		w.up()
	}
}

func (w *walk) close() {
	w.top()
	unix.Close(w.fds[0])
}

// look tells what a name is: where it leads when it is a link, else "", and
// whether it is a regular file. A link of somebody who is not trusted is an
// error. The descriptor pins what was looked at.
func (w *walk) look(name string, trusted []uint32) (target string, regular bool, err error) {
	fd, err := openat(w.fd(), name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", false, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return "", false, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return "", st.Mode&unix.S_IFMT == unix.S_IFREG, nil
	}
	if !slices.Contains(trusted, st.Uid) {
		return "", false, fmt.Errorf("%q is a link of uid %d: %w", name, st.Uid, ErrForbidden)
	}
	var text [unix.PathMax]byte
	n, err := unix.Readlinkat(fd, "", text[:])
	if err == nil && n == 0 {
		err = unix.ENOENT
	}
	return string(text[:max(n, 0)]), false, err
}
