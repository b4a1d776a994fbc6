package beneath

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Mount returns the id of the mount that an open descriptor lies on, as in
// /proc/self/mountinfo. Device numbers do not tell a bind mount apart; where
// neither the kernel (5.8) nor /proc knows the id it is an error.
func Mount(fd int) (uint64, error) {
	var st unix.Statx_t
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW, unix.STATX_MNT_ID, &st)
	if err == nil && st.Mask&unix.STATX_MNT_ID != 0 {
		return st.Mnt_id, nil
	}
	return procMount(fd)
}

// procMount reads the mount id from the descriptor's page in /proc.
func procMount(fd int) (uint64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", fd))
	if err != nil {
		return 0, err
	}
	lines := bufio.NewScanner(strings.NewReader(string(text)))
	for lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "mnt_id:"); ok {
			return strconv.ParseUint(strings.TrimSpace(id), 10, 64)
		}
	}
	return 0, fmt.Errorf("no mount id: %w", unix.ENOTSUP)
}
