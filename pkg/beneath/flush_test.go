package beneath_test

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/beneath"
)

// TestFlush: what it is for, power has to fail to show; see test/vm.
func TestFlush(t *testing.T) {
	fd, err := unix.Open(t.TempDir(), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		t.Fatal(err)
	}
	for _, ordered := range []bool{true, false} {
		var asked []uint64
		if err := beneath.Flush(fd, func(dev uint64) bool { asked = append(asked, dev); return ordered }); err != nil {
			t.Errorf("ordered %v: %v", ordered, err)
		}
		if len(asked) != 1 || asked[0] != st.Dev {
			t.Errorf("asked about devices %v, the folder's is %d", asked, st.Dev)
		}
	}
	if err := beneath.Flush(fd, nil); err != nil {
		t.Error(err)
	}
	unix.Close(fd)
	if err := beneath.Flush(fd, nil); !errors.Is(err, os.ErrInvalid) && !errors.Is(err, unix.EBADF) {
		t.Errorf("a closed folder: %v", err)
	}
}
