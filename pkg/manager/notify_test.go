package manager_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"job-cleanup/pkg/manager"
)

func TestNotify(t *testing.T) {
	dir := t.TempDir()
	for _, socket := range []string{filepath.Join(dir, "notify"), "@job-cleanup-test-" + filepath.Base(dir)} {
		listener, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		if err := manager.Notify(socket, "STATUS=removing a\nSTOPPING=1", "EXTEND_TIMEOUT_USEC=5"); err != nil {
			t.Fatal(err)
		}
		if err := listener.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 1024)
		n, err := listener.Read(buf)
		if err != nil || string(buf[:n]) != "STATUS=removing a STOPPING=1\nEXTEND_TIMEOUT_USEC=5" {
			t.Errorf("%s: got %q, %v", socket, buf[:n], err)
		}
	}
	for _, socket := range []string{"", "relative", "vsock:2:1", filepath.Join(dir, "none")} {
		if err := manager.Notify(socket, "STATUS=x"); err == nil {
			t.Errorf("socket %q: no error", socket)
		}
	}
}

// A manager that reads no notifications must not stop the cleanup.
func TestNotifyFull(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	listener, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	begin := time.Now()
	for range 100_000 {
		if err := manager.Notify(socket, "STATUS=x"); err != nil {
			if time.Since(begin) > 30*time.Second || !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("after %v: %v", time.Since(begin), err)
			}
			return
		}
	}
	t.Error("the queue has no end")
}

func TestIDs(t *testing.T) {
	root := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(root, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write("proc/sys/kernel/random/boot_id", "0E3B1C2D-0000-4000-8000-0123456789ab\n")
	write("etc/machine-id", "0123456789abcdef0123456789abcdef\n")
	if id, err := manager.BootID(root); err != nil || id != "0e3b1c2d0000400080000123456789ab" {
		t.Errorf("boot id %q, %v", id, err)
	}
	if id, err := manager.MachineID(root); err != nil || id != "0123456789abcdef0123456789abcdef" {
		t.Errorf("machine id %q, %v", id, err)
	}
	for _, text := range []string{"uninitialized\n", "", "0123"} {
		write("etc/machine-id", text)
		if id, err := manager.MachineID(root); err == nil {
			t.Errorf("%q: id %q", text, id)
		}
	}
	if _, err := manager.BootID(t.TempDir()); err == nil {
		t.Error("no file: no error")
	}
	if _, err := manager.BootID("/"); err != nil {
		t.Errorf("this machine: %v", err)
	}
}
