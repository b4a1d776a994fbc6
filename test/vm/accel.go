//go:build linux

package vm

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Ways to run a machine: by the processor, or by translating all it does, which
// takes some ten times as long.
const (
	byProcessor = "kvm"
	translated  = "tcg,thread=multi"
)

// kernelLimit is how long a kernel may take to say its first word.
const kernelLimit = 20 * time.Second

// acceleration is the way that works here. That /dev/kvm can be opened does not
// say that an ordinary kernel runs in it (machines in machines), so it is tried.
func acceleration(img *image, folder string) string {
	device, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if err != nil {
		return translated
	}
	device.Close()
	console := filepath.Join(folder, "console")
	qemu := exec.Command("qemu-system-x86_64", "-accel", byProcessor, "-cpu", "max", "-m", "512",
		"-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-nic", "none",
		"-serial", "file:"+console, "-kernel", img.kernel, "-append", "console=ttyS0 panic=-1")
	qemu.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if qemu.Start() != nil {
		return translated
	}
	exited := make(chan struct{})
	go func() {
		_ = qemu.Wait() // what it said tells
		close(exited)
	}()
	defer func() {
		_ = qemu.Process.Kill()
		<-exited
	}()
	for end := time.Now().Add(kernelLimit); time.Now().Before(end); {
		if info, err := os.Stat(console); err == nil && info.Size() > 0 {
			return byProcessor
		}
		select {
		case <-exited: // perhaps after its panic without a disk: the next look tells
			if info, err := os.Stat(console); err == nil && info.Size() > 0 {
				return byProcessor
			}
			return translated
		case <-time.After(20 * time.Millisecond):
		}
	}
	return translated
}
