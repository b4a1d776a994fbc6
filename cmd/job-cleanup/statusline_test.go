package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"job-cleanup/pkg/engine"
	"job-cleanup/pkg/residue"
)

// wantClean fails when the screen shows more than what is told for good.
func wantClean(t *testing.T, screen string) {
	t.Helper()
	for line := range strings.SplitSeq(screen, "\n") {
		switch first, _, _ := strings.Cut(line, " "); first {
		case "", "removed", "ran", "owed", "cleanup", "hint:", "job-cleanup:":
		default:
			t.Errorf("left on the screen: %q", line)
		}
	}
}

func TestStatusLine(t *testing.T) {
	t.Parallel()
	r := onTerminal(t, 200, nil, "job-cleanup", "run", "--state-dir", "state", "--step", gate, "--step", "Command Run=/bin/true")
	r.see("cleaning by-hand  1/2  command /")
	r.open()
	screen := r.end()
	wantClean(t, screen)
	if !strings.Contains(screen, "\ncleanup of by-hand (unknown): 2 removed") {
		t.Errorf("the screen shows %q", screen)
	}
}

func TestStatusLineOfExec(t *testing.T) {
	t.Parallel()
	r := onTerminal(t, 200, nil, "job-cleanup", "exec", "--state-dir", "state", "--step", gate, "--", "true")
	r.see("cleaning exec  0/1  command /")
	r.open()
	wantClean(t, r.end())
}

func TestStatusLineOfSweep(t *testing.T) {
	t.Parallel()
	// The sweep waits for what the exec had no time for.
	r := onTerminal(t, 200, nil, "job-cleanup", "exec", "--state-dir", "state", "--timeout", "300ms", "--step", gate, "--", "true")
	first := r.end()
	sweep := onTerminal(t, 200, nil, "job-cleanup", "sweep", "--all", "--state-dir", r.dir+"/state")
	sweep.see("cleaning exec  0/1  command /")
	r.open()
	screen := sweep.end()
	wantClean(t, screen)
	if !strings.Contains(screen, "1 removed") {
		t.Errorf("first %q, then %q", first, screen)
	}
}

// The results may go elsewhere: then nothing follows the line on the terminal.
func TestStatusLineAlone(t *testing.T) {
	t.Parallel()
	r := onTerminal(t, 200, nil, "sh", "-c", "job-cleanup run --state-dir state --step '"+gate+"' >out")
	r.see("cleaning by-hand")
	r.open()
	if screen := r.end(); screen != "" {
		t.Errorf("left on the screen: %q", screen)
	}
}

// Ctrl-C puts its own two letters behind the line.
func TestStatusLineAfterCtrlC(t *testing.T) {
	t.Parallel()
	r := onTerminal(t, 60, nil, "job-cleanup", "run", "--state-dir", "state", "--step", gate)
	r.see("cleaning by-hand  0/1  ")
	r.press("\x03")
	r.see("stopping within")
	r.open()
	screen := r.end()
	wantClean(t, screen)
	if strings.Contains(screen, "^C") || !strings.HasPrefix(screen, "job-cleanup: stopping within ") {
		t.Errorf("the screen shows %q", screen)
	}
}

func TestStatusLineOnNarrowTerminal(t *testing.T) {
	t.Parallel()
	const columns = 30
	r := onTerminal(t, columns, nil, "job-cleanup", "run", "--state-dir", "state", "--step", gate)
	r.see("cleaning by-hand  0/1")
	r.open()
	wantClean(t, r.end())
	for _, part := range strings.Split(r.raw(), eraseLine) {
		line, _, _ := strings.Cut(part, "\r")
		if strings.HasPrefix(line, "cleaning") && len(line)+caretC >= columns {
			t.Errorf("%q reaches the edge", line)
		}
	}
}

// What is over soon leaves the terminal alone.
func TestNoStatusLineOfShortWork(t *testing.T) {
	for range 10 {
		began := time.Now()
		r := onTerminal(t, 80, nil, "job-cleanup", "run", "--state-dir", "state", "--step", "Command Run=/bin/true")
		r.end()
		if time.Since(began) >= statusAfter {
			continue // the machine is busy: that was no short work
		}
		if raw := r.raw(); strings.Contains(raw, "\x1b") || !strings.Contains(raw, "1 removed") {
			t.Errorf("it wrote %q", raw)
		}
		return
	}
	t.Skip("this machine is too busy for short work")
}

// Nor is there one where it can't be drawn, or not be read.
func TestNoStatusLine(t *testing.T) {
	for name, test := range map[string]struct{ env, option string }{
		"a dumb terminal": {"TERM=dumb", "--strict"},
		"json":            {"TERM=xterm", "--json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := onTerminal(t, 80, []string{test.env}, "job-cleanup", "run", "--state-dir", "state", "--step", "Command Run=%W/long", test.option)
			r.end()
			if raw := r.raw(); strings.Contains(raw, "\x1b") || !strings.Contains(raw, "removed") {
				t.Errorf("it wrote %q", raw)
			}
		})
	}
}

func TestWatched(t *testing.T) {
	_, screen := newTerminal(t, 80)
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for name, test := range map[string]struct {
		out  *os.File
		env  environment
		want bool
	}{
		"a person":       {screen, environment{"TERM": "xterm", "SYSTEMD_EXEC_PID": "6", "INVOCATION_ID": "a desktop's"}, true},
		"a dumb one":     {screen, environment{"TERM": "dumb"}, false},
		"an unknown one": {screen, environment{}, false},
		"a hook":         {screen, environment{"TERM": "xterm", "SERVICE_RESULT": "success"}, false},
		"a service":      {screen, environment{"TERM": "xterm", "SYSTEMD_EXEC_PID": "7"}, false},
		"a CI log":       {screen, environment{"TERM": "xterm", "CI": "true"}, false},
		"a file":         {file, environment{"TERM": "xterm"}, false},
	} {
		p := &program{env: test.env, pid: 7}
		if got := p.watched(test.out); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestProgressLine(t *testing.T) {
	p := &progress{}
	if p.line(80) != "" {
		t.Error("a line before there is work")
	}
	p.expect("a\x1b[2J\tb.service", nil)
	if got, want := p.line(80), `cleaning a\x1b[2J b.service`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	p.expect("日本語.service", nil)
	if got, want := p.line(14), "cleaning 日本"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	p.expect("a.service", []engine.Item{{Spec: residue.Spec{ID: "s"}}})
	p.record(engine.Event{Spec: residue.Spec{ID: "s"}, Status: engine.Found, Residues: []residue.Residue{{ID: "1"}, {ID: "2"}}, Complete: true})
	over := p.begin(engine.Event{Spec: residue.Spec{ID: "s", Kind: "path"}, Residue: &residue.Residue{ID: "1", Ref: "/var/tmp/batch-1"}})
	p.more(41000)
	p.more(200)
	for columns, want := range map[int]string{
		0:  "cleaning a.service  0/2  path /var/tmp/batch-1  41,200 gone",
		45: "cleaning a.service  0/2  path /v  41,200 gone",
		20: "cleaning a.service  ",
	} {
		if got := p.line(columns); got != want {
			t.Errorf("%d columns: %q, want %q", columns, got, want)
		}
	}
	over()
	p.record(engine.Event{Spec: residue.Spec{ID: "s"}, Residue: &residue.Residue{ID: "1"}, Status: engine.Removed})
	if got, want := p.line(0), "cleaning a.service  1/2  41,200 gone"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var none *progress
	none.more(1)
	none.expect("a.service", nil)
	if none.line(80) != "" {
		t.Error("nobody's progress has a line")
	}
}
