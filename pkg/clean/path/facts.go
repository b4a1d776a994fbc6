package path

import (
	"time"

	"golang.org/x/sys/unix"
)

// facts is what statx tells about one name or descriptor.
type facts struct {
	dev, ino  uint64
	btime     time.Time // zero: the file system keeps none
	mode      uint32
	uid       uint32
	mount     uint64 // 0: not told
	mountRoot bool
	immutable bool // chattr +i or +a
	links     uint32
	perm      uint32 // permission bits
}

// look reads the facts of name in dir; an empty name means dir itself. It
// opens nothing but a descriptor without access (O_PATH).
func (k kernel) look(dir int, name string) (facts, error) {
	f, err := k.stat(dir, name)
	if err != nil || f.mount != 0 || !k.fdinfo {
		return f, err
	}
	if name == "" {
		f.mount, err = fdinfoMount(dir)
		return f, err
	}
	fd, err := openat(dir, name, pathAny)
	if err != nil {
		return f, err
	}
	defer unix.Close(fd)
	if f.mount, err = fdinfoMount(fd); err != nil {
		return f, err
	}
	above, err := fdinfoMount(dir)
	f.mountRoot = above != f.mount
	return f, err
}

func (k kernel) stat(dir int, name string) (facts, error) {
	flags := byName
	if name == "" {
		flags = emptyPath
	}
	if !k.birth {
		return lookOld(dir, name, flags)
	}
	var st unix.Statx_t
	err := unix.Statx(dir, name, flags, unix.STATX_BASIC_STATS|unix.STATX_BTIME|unix.STATX_MNT_ID, &st)
	if err != nil {
		return facts{}, err
	}
	f := facts{
		dev: unix.Mkdev(st.Dev_major, st.Dev_minor), ino: st.Ino,
		mode: uint32(st.Mode) & unix.S_IFMT, perm: uint32(st.Mode) & 0o7777,
		uid: st.Uid, links: st.Nlink,
		mountRoot: k.statxID && st.Attributes_mask&st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0,
		immutable: st.Attributes&(unix.STATX_ATTR_IMMUTABLE|unix.STATX_ATTR_APPEND) != 0,
	}
	if st.Mask&unix.STATX_BTIME != 0 && (st.Btime.Sec != 0 || st.Btime.Nsec != 0) {
		f.btime = time.Unix(st.Btime.Sec, int64(st.Btime.Nsec)).UTC()
	}
	if k.statxID && st.Mask&unix.STATX_MNT_ID != 0 {
		f.mount = st.Mnt_id
	}
	return f, nil
}

// lookOld does without statx: no birth time, no mount.
func lookOld(dir int, name string, flags int) (facts, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, flags); err != nil {
		return facts{}, err
	}
	return facts{
		dev: uint64(st.Dev), ino: st.Ino, mode: st.Mode & unix.S_IFMT, perm: st.Mode & 0o7777,
		uid: st.Uid, links: uint32(st.Nlink),
	}, nil
}

// isDir reports whether it is a folder.
func (f facts) isDir() bool { return f.mode == unix.S_IFDIR }

// kind is the word of the proof for what it is.
func (f facts) kind() string {
	switch f.mode {
	case unix.S_IFDIR:
		return "dir"
	case unix.S_IFREG:
		return "file"
	case unix.S_IFLNK:
		return "link"
	case unix.S_IFIFO:
		return "fifo"
	case unix.S_IFSOCK:
		return "socket"
	}
	return "device"
}
