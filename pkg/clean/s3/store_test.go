package s3_test

import (
	"net"
	"os/exec"
	"testing"
	"time"
)

// startStore starts versitygw on a folder of the test's.
func startStore(t testing.TB, versioned bool) store {
	t.Helper()
	binary, err := exec.LookPath("versitygw")
	if err != nil {
		t.Skip("versitygw is not installed")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	args := []string{"--port", addr, "--access", "job-test", "--secret", "canary-secret-key-0123456789", "--quiet", "posix"}
	if versioned {
		args = append(args, "--versioning-dir", t.TempDir())
	}
	cmd := exec.Command(binary, append(args, t.TempDir())...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	return store{"http://" + addr, "job-test", "canary-secret-key-0123456789"}
}
