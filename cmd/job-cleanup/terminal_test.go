package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminalRun is one run of a command on a terminal of its own.
type terminalRun struct {
	t    *testing.T
	dir  string
	cmd  *exec.Cmd
	keys *os.File // the terminal, from a person's side

	mu     sync.Mutex
	output strings.Builder
	change chan struct{} // one token when there is more
	closed chan struct{} // when nobody has the terminal open any more
}

// scripts are in the folder that a run is in, %W: the gate ends when the test
// opens it, long takes long enough for a status line.
var scripts = map[string]string{
	"gate": "#!/bin/sh\nuntil test -e ${0%/*}/open; do sleep 0.02; done\n",
	"long": "#!/bin/sh\nexec sleep 1.6\n",
}

// gate is the step for the first of them.
const gate = "Command Run=%W/gate"

// newTerminal makes a terminal of so many columns: the side where a person
// types and looks, and the program's side.
func newTerminal(t *testing.T, columns uint16) (keys, screen *os.File) {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("needs pseudo terminals: %v", err)
	}
	t.Cleanup(func() { keys.Close() })
	fd := int(keys.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns})
	}
	if err != nil {
		t.Fatal(err)
	}
	screen, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("needs pseudo terminals: %v", err)
	}
	t.Cleanup(func() { screen.Close() })
	return keys, screen
}

// onTerminal starts a command on a terminal of its own.
func onTerminal(t *testing.T, columns uint16, env []string, args ...string) *terminalRun {
	t.Helper()
	keys, screen := newTerminal(t, columns)
	defer screen.Close() // the program alone has it, so that its end is seen
	r := &terminalRun{t: t, dir: t.TempDir(), keys: keys, change: make(chan struct{}, 1), closed: make(chan struct{})}
	for name, text := range scripts {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "%W", r.dir)
	}
	r.cmd = exec.Command(args[0], args[1:]...)
	r.cmd.Dir, r.cmd.Env = r.dir, append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir, "TERM=xterm"}, env...)
	r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = screen, screen, screen
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(30*time.Second, func() { _ = r.cmd.Process.Kill() })
	t.Cleanup(func() {
		late.Stop()
		_ = r.cmd.Process.Kill()
	})
	go r.read()
	return r
}

// read takes what the program writes. A read fails when the last one closed
// the terminal.
func (r *terminalRun) read() {
	defer close(r.closed)
	buf := make([]byte, 4096)
	for {
		n, err := r.keys.Read(buf)
		r.mu.Lock()
		r.output.Write(buf[:n])
		r.mu.Unlock()
		select {
		case r.change <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

func (r *terminalRun) raw() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.output.String()
}

// see waits until the program wrote a text.
func (r *terminalRun) see(text string) {
	r.t.Helper()
	for late := time.After(20 * time.Second); !strings.Contains(r.raw(), text); {
		select {
		case <-r.change:
		case <-r.closed:
			if !strings.Contains(r.raw(), text) {
				r.t.Fatalf("no %q in %q", text, r.raw())
			}
		case <-late:
			r.t.Fatalf("no %q in %q", text, r.raw())
		}
	}
}

// press types.
func (r *terminalRun) press(keys string) {
	r.t.Helper()
	if _, err := r.keys.WriteString(keys); err != nil {
		r.t.Fatal(err)
	}
}

// open lets the command of the gate end.
func (r *terminalRun) open() {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, "open"), nil, 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// end waits for the program's end and returns what the terminal then shows.
func (r *terminalRun) end() string {
	r.t.Helper()
	_ = r.cmd.Wait()
	<-r.closed
	return shown(r.raw())
}

// shown is the text on a terminal: of what moves on one it knows carriage
// returns and the clearing of the rest of a line, and nothing else.
func shown(raw string) string {
	var lines []string
	var line []rune
	at := 0
	for _, c := range strings.ReplaceAll(raw, "\x1b[K", "\x1b") {
		switch c {
		case '\n':
			lines, line, at = append(lines, string(line)), nil, 0
		case '\r':
			at = 0
		case '\x1b':
			line = line[:min(at, len(line))]
		default:
			line = append(line[:at], append([]rune{c}, line[min(at+1, len(line)):]...)...)
			at++
		}
	}
	return strings.Join(append(lines, string(line)), "\n")
}
