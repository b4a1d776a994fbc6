//go:build linux

// Package browser lets tests look at a page in Debian's chromium, without a
// window and without a network.
package browser

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds each answer of the browser.
const patience = 60 * time.Second

// Program is the browser's file.
const Program = "/usr/bin/chromium"

// flags keep the browser from whatever is not the page: this machine's
// accounts, other programs, the network.
var flags = []string{
	"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage",
	"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
	"--disable-default-apps", "--disable-extensions", "--hide-scrollbars", "--force-color-profile=srgb",
	"--host-resolver-rules=MAP * ~NOTFOUND", "--remote-debugging-pipe",
}

// Page is a tab. It ends with the test.
type Page struct {
	t       testing.TB
	out     *os.File
	session string
	last    int
	in      chan message
	events  []message // that came while an answer was awaited

	mu  sync.Mutex
	err error // why in was closed
}

// message is one of the DevTools protocol.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Problem *problem        `json:"error,omitempty"`
}

type problem struct {
	Message string `json:"message"`
}

// New starts a browser with one empty tab. The test is skipped where there is
// no browser.
func New(t testing.TB) *Page {
	t.Helper()
	if _, err := os.Stat(Program); err != nil {
		t.Skipf("needs %s, Debian's package chromium", Program)
	}
	p := &Page{t: t, in: make(chan message, 64)}
	p.start()
	target := struct{ TargetID string }{}
	p.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	attached := struct{ SessionID string }{}
	p.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	p.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		p.call(domain+".enable", nil, nil)
	}
	return p
}

// start starts the process, with a profile of its own.
func (p *Page) start() {
	p.t.Helper()
	profile, err := os.MkdirTemp("", "browser-")
	if err != nil {
		p.t.Fatal(err)
	}
	theirIn, ourOut, err := os.Pipe()
	if err != nil {
		p.t.Fatal(err)
	}
	ourIn, theirOut, err := os.Pipe()
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.Command(Program, append(flags, "--user-data-dir="+profile)...)
	cmd.Env = []string{"HOME=" + profile, "PATH=/usr/bin:/bin", "TZ=UTC", "LANG=C.UTF-8"}
	cmd.ExtraFiles = []*os.File{theirIn, theirOut} // 3 and 4
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	err = cmd.Start()
	theirIn.Close()
	theirOut.Close()
	if err != nil {
		p.t.Fatal(err)
	}
	p.out = ourOut
	go p.read(ourIn)
	p.t.Cleanup(func() {
		ourOut.Close()
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // with the processes it made
		_ = cmd.Wait()
		ourIn.Close()
		if err := removeAll(profile); err != nil {
			p.t.Error(err)
		}
	})
}

// removeAll removes a profile that a process about to end may still write to.
func removeAll(path string) error {
	var err error
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if err = os.RemoveAll(path); err == nil {
			return nil
		}
	}
	return err
}

// read passes on what the browser says, until it ends.
func (p *Page) read(from io.Reader) {
	in := bufio.NewReaderSize(from, 1<<20)
	for {
		text, err := in.ReadBytes(0)
		if err == nil {
			var m message
			if err = json.Unmarshal(text[:len(text)-1], &m); err == nil {
				p.in <- m
				continue
			}
		}
		p.mu.Lock()
		p.err = err
		p.mu.Unlock()
		close(p.in)
		return
	}
}

// next is the next message.
func (p *Page) next(limit <-chan time.Time) (message, error) {
	select {
	case m, ok := <-p.in:
		if !ok {
			p.mu.Lock()
			defer p.mu.Unlock()
			return m, fmt.Errorf("the browser ended: %w", p.err)
		}
		return m, nil
	case <-limit:
		return message{}, errors.New("no answer from the browser")
	}
}

// call sends a command and decodes the answer.
func (p *Page) call(method string, params any, result any) {
	p.t.Helper()
	p.last++
	text, err := json.Marshal(map[string]any{"id": p.last, "method": method, "params": params})
	if p.session != "" {
		text, err = json.Marshal(map[string]any{"id": p.last, "method": method, "params": params, "sessionId": p.session})
	}
	if err == nil {
		_, err = p.out.Write(append(text, 0))
	}
	if err != nil {
		p.t.Fatalf("%s: %v", method, err)
	}
	limit := time.After(patience)
	for {
		m, err := p.next(limit)
		switch {
		case err != nil:
			p.t.Fatalf("%s: %v", method, err)
		case m.ID != p.last:
			p.events = append(p.events, m)
			continue
		case m.Problem != nil:
			p.t.Fatalf("%s: %s", method, m.Problem.Message)
		}
		if result != nil {
			if err := json.Unmarshal(m.Result, result); err != nil {
				p.t.Fatalf("%s: %v", method, err)
			}
		}
		return
	}
}
