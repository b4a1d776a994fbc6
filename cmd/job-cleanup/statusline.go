package main

import (
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// The status line comes when work takes longer than a person waits gladly.
const (
	statusAfter = time.Second
	statusEvery = 250 * time.Millisecond
)

// eraseLine goes to the beginning of a line and clears it. That is all which is
// asked of a terminal.
const eraseLine = "\r\x1b[K"

// caretC is what a terminal itself puts behind the status line at Ctrl-C. A
// line that it made longer than the screen could not be erased.
const caretC = len("^C")

// statusLine is the last line of a terminal, drawn again and again. All else
// that goes there goes through it, so that nothing stands behind it.
type statusLine struct {
	mu    sync.Mutex
	out   *os.File
	group int // the process group that has to be the terminal's
	shown string
}

// showProgress keeps a status line while the work of a verb lasts, where a
// person watches: stderr is a terminal that understands us, and we are in its
// foreground. The returned function ends that; the line is gone then. Group is
// the process group that a shell's fg and bg mean.
func (p *program) showProgress(o *options, group int) func() {
	p.progress = &progress{}
	out, ok := p.stderr.(*os.File)
	if !ok || !p.watched(out) || o.json {
		return func() {}
	}
	line := &statusLine{out: out, group: group}
	p.stderr = clearing{line, out}
	if file, ok := p.stdout.(*os.File); ok && isTerminal(file) {
		p.stdout = clearing{line, file}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		line.keep(p.progress, done)
	}()
	return func() {
		close(done)
		<-ended
	}
}

// watched reports whether somebody may be looking who wants to see a line that
// moves: not in a log, of systemd's or a CI platform's, though some give their
// jobs a terminal.
func (p *program) watched(out *os.File) bool {
	_, hook := p.env["SERVICE_RESULT"]
	service := p.env["SYSTEMD_EXEC_PID"] == itoa(p.pid)
	term := p.env["TERM"]
	return isTerminal(out) && !hook && !service && p.env["CI"] == "" && term != "" && term != "dumb"
}

func isTerminal(file *os.File) bool {
	_, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
	return err == nil
}

// keep draws the line until done is closed, and then takes it away.
func (l *statusLine) keep(p *progress, done <-chan struct{}) {
	wait := time.NewTimer(statusAfter)
	defer wait.Stop()
	for {
		select {
		case <-wait.C:
			l.draw(p)
			wait.Reset(statusEvery)
		case <-done:
			l.mu.Lock()
			defer l.mu.Unlock()
			l.erase()
			return
		}
	}
}

// draw brings the line up to date. In the background the terminal is somebody
// else's.
func (l *statusLine) draw(p *progress) {
	text := ""
	if group, err := unix.IoctlGetInt(int(l.out.Fd()), unix.TIOCGPGRP); err == nil && group == l.group {
		text = p.line(l.columns())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if text == l.shown {
		return
	}
	if text == "" {
		l.erase()
		return
	}
	l.shown = text
	_, _ = l.out.WriteString(eraseLine + text)
}

func (l *statusLine) columns() int {
	columns := width
	if size, err := unix.IoctlGetWinsize(int(l.out.Fd()), unix.TIOCGWINSZ); err == nil && size.Col > 0 {
		columns = int(size.Col)
	}
	return max(columns-caretC-1, 1)
}

// erase takes the line away. The caller holds the lock.
func (l *statusLine) erase() {
	if l.shown != "" {
		l.shown = ""
		_, _ = l.out.WriteString(eraseLine)
	}
}

// clearing writes to the terminal of a status line, which it erases before.
type clearing struct {
	line *statusLine
	out  io.Writer
}

// Write implements io.Writer.
func (c clearing) Write(text []byte) (int, error) {
	c.line.mu.Lock()
	defer c.line.mu.Unlock()
	c.line.erase()
	return c.out.Write(text)
}
