package ledger

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// identity tells one file from the next one of the same name. Inode numbers
// are given again at once; birth times are not.
type identity struct {
	dev, ino, birth uint64
}

func identify(f *os.File) (identity, error) {
	var st unix.Statx_t
	err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_BTIME, &st)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) { // old kernel or container filter
		return identity{}, nil
	}
	if err != nil {
		return identity{}, pathError("stat", f, "", err)
	}
	id := identity{dev: uint64(st.Dev_major)<<32 | uint64(st.Dev_minor), ino: st.Ino}
	if st.Mask&unix.STATX_BTIME != 0 {
		id.birth = uint64(st.Btime.Sec)*1e9 + uint64(st.Btime.Nsec)
	}
	return id, nil
}

// same reports whether it is certainly the same file.
func (a identity) same(b identity) bool { return a == b && a.birth != 0 }
