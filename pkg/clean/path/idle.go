package path

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// From linux/ioprio.h.
const (
	ioprioWhoProcess = 1
	ioprioIdle       = 3 << 13 // the idle class: the disk only when nobody else wants it
)

// lowest is the lowest priority for a processor (nice 19).
const lowest = 19

// atIdle does work in a thread of its own that has the lowest priorities. The
// thread keeps them, so it is never given back: it ends with the goroutine that
// calls this. Where the kernel says no, the work is done all the same.
func atIdle(work func()) {
	runtime.LockOSThread()
	_, _, _ = unix.Syscall(unix.SYS_IOPRIO_SET, ioprioWhoProcess, 0, ioprioIdle) // 0 is the calling thread
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, lowest)
	work()
}
