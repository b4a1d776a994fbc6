package path

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// kernel is what the running kernel can do for us. Tests switch parts off to
// take the ways that older kernels take.
type kernel struct {
	openat2   bool // Linux 5.6: one call opens a folder and refuses links and mounts
	statxID   bool // Linux 5.8: statx tells the mount id
	fdinfo    bool // /proc tells the mount id
	birth     bool // statx tells the birth time where the file system has one
	mountinfo string
	fstab     string
}

// running looks once at what there is.
var running = sync.OnceValue(func() kernel {
	k := kernel{mountinfo: "/proc/self/mountinfo", fstab: "/etc/fstab"}
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: straight}
	root, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return k
	}
	defer unix.Close(root)
	if fd, err := unix.Openat2(root, ".", &how); err == nil {
		k.openat2 = true
		unix.Close(fd)
	}
	var st unix.Statx_t
	if unix.Statx(root, "", emptyPath, unix.STATX_BASIC_STATS|unix.STATX_MNT_ID, &st) == nil {
		k.birth = true
		k.statxID = st.Mask&unix.STATX_MNT_ID != 0
	}
	_, err = fdinfoMount(root)
	k.fdinfo = err == nil
	return k
})

const (
	straight  = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_MAGICLINKS
	emptyPath = unix.AT_EMPTY_PATH | unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT
	byName    = unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT

	readDir = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NONBLOCK
	pathDir = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	pathAny = unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
)

// errNoMountID stops all work below a base: without a mount id a bind mount
// looks like a folder.
var errNoMountID = errors.New("neither statx nor /proc/self/fdinfo tells the mount")

// openDir opens the folder name in parent with flags (readDir or pathDir),
// following no link and crossing no mount: a link is ELOOP or ENOTDIR, a mount
// EXDEV.
func (k kernel) openDir(parent int, name string, flags int) (int, error) {
	if k.openat2 {
		how := unix.OpenHow{Flags: uint64(flags), Resolve: straight}
		for tries := 0; ; tries++ {
			fd, err := unix.Openat2(parent, name, &how)
			if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) && tries < 16 {
				continue
			}
			return fd, err
		}
	}
	fd, err := openat(parent, name, pathDir)
	if err != nil {
		return -1, err
	}
	if err := k.sameMount(parent, fd); err != nil || flags == pathDir {
		if err != nil {
			unix.Close(fd)
			fd = -1
		}
		return fd, err
	}
	defer unix.Close(fd)
	return openat(fd, ".", flags)
}

// sameMount is EXDEV when two descriptors lie on different mounts.
func (k kernel) sameMount(a, b int) error {
	one, err := k.mountID(a)
	if err != nil {
		return err
	}
	two, err := k.mountID(b)
	if err != nil {
		return err
	}
	if one != two {
		return unix.EXDEV
	}
	return nil
}

// mountID tells the mount that a descriptor lies on, as /proc/self/mountinfo
// numbers it.
func (k kernel) mountID(fd int) (uint64, error) {
	if k.statxID {
		var st unix.Statx_t
		err := unix.Statx(fd, "", emptyPath, unix.STATX_MNT_ID, &st)
		if err == nil && st.Mask&unix.STATX_MNT_ID != 0 {
			return st.Mnt_id, nil
		}
	}
	if k.fdinfo {
		return fdinfoMount(fd)
	}
	return 0, errNoMountID
}

func fdinfoMount(fd int) (uint64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", fd))
	if err != nil {
		return 0, errNoMountID
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "mnt_id:"); ok {
			return strconv.ParseUint(strings.TrimSpace(value), 10, 64)
		}
	}
	return 0, errNoMountID
}

// openat repeats what a signal interrupted.
func openat(parent int, name string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(parent, name, flags, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// bootID is the running boot's id in 32 hexadecimal digits, "" when unknown.
var bootID = sync.OnceValue(func() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.ReplaceAll(strings.TrimSpace(string(text)), "-", "")
})

// errnoOf is the kernel's answer in err, EIO for an error of another sort.
func errnoOf(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		return errno
	}
	return unix.EIO
}
