package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestEventsHaveDistinctIDs(t *testing.T) {
	seen := map[string]Event{}
	for event, known := range events {
		if len(known.id) != 32 || strings.Trim(known.id, "0123456789abcdef") != "" {
			t.Errorf("%s: id %q", event, known.id)
		}
		if other, twice := seen[known.id]; twice {
			t.Errorf("%s and %s have one id", event, other)
		}
		seen[known.id] = event
	}
}

func TestStream(t *testing.T) {
	for _, c := range []struct {
		priority bool
		record   Record
		want     string
	}{
		{false, Record{Event: Removed, Kind: "path", Ref: "/tmp/x"}, "removed path /tmp/x\n"},
		{true, Record{Event: Removed, Kind: "path", Ref: "/tmp/x"}, "<6>removed path /tmp/x\n"},
		{true, Record{Event: Refused, Message: "a\n<0>forged"}, "<3>a\\x0a<0>forged\n"},
		{true, Record{Event: Summary, Counts: map[Event]int{Owed: 1}}, "<4>cleanup of the job: 1 owed\n"},
		{true, Record{Event: Removed, Priority: Debug, Message: "m"}, "<7>m\n"},
	} {
		var out bytes.Buffer
		if err := NewStream(&out, c.priority).Send(c.record); err != nil || out.String() != c.want {
			t.Errorf("got %q, %v, want %q", out.String(), err, c.want)
		}
	}
}

func TestIsJournal(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var stat syscall.Stat_t
	if err := syscall.Fstat(int(file.Fd()), &stat); err != nil {
		t.Fatal(err)
	}
	right := fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
	for stream, want := range map[string]bool{right: true, "": false, "1:2": false, "nonsense": false, right + "0": false} {
		if got := IsJournal(file, stream); got != want {
			t.Errorf("%q: %v, want %v", stream, got, want)
		}
	}
}

func TestFirstAndTee(t *testing.T) {
	broken, other, third := &kept{err: errors.New("broken")}, &kept{}, &kept{}
	if err := First(broken, other, third).Send(Record{Event: Owed}); err != nil {
		t.Error(err)
	}
	if other.events() != "owed" || third.events() != "" {
		t.Errorf("second got %q, third %q", other.events(), third.events())
	}
	if err := First(broken, broken).Send(Record{}); !errors.Is(err, broken.err) {
		t.Errorf("got %v", err)
	}
	if err := Tee(broken, third).Send(Record{Event: Owed}); !errors.Is(err, broken.err) || third.events() != "owed" {
		t.Errorf("got %v, third %q", err, third.events())
	}
}

func TestLimit(t *testing.T) {
	var out kept
	l := Limit(&out, 1000)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 500 {
				for _, e := range []Event{Removed, Owed} {
					if err := l.Send(Record{Event: e, Unit: "a.service"}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	send := func(r Record) {
		if err := l.Send(r); err != nil {
			t.Fatal(err)
		}
	}
	send(Record{Event: Removed, Unit: "b.service"})
	send(Record{Event: Summary, Unit: "b.service"})
	send(Record{Event: Summary, Unit: "a.service", Counts: map[Event]int{Removed: 2000}})
	got := map[Event]int{}
	for _, r := range out.records {
		got[r.Event]++
	}
	if got[Removed] != 1000+1+1 || got[Owed] != 2000 || got[Summary] != 2 {
		t.Errorf("passed on: %v", got)
	}
	rest := out.records[len(out.records)-2]
	if rest.Event != Removed || rest.Count != 1000 || rest.Unit != "a.service" {
		t.Errorf("before the summary: %+v", rest)
	}
	if text := Text(rest); text != "removed: 1000 more of a.service" {
		t.Errorf("text %q", text)
	}
	if rest := out.records[len(out.records)-3]; rest.Unit != "b.service" || rest.Event != Summary {
		t.Errorf("a job below the limit has counts: %+v", rest)
	}
}

func TestFileReadsBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	at := time.UnixMicro(1_700_000_000_000_001)
	for range 2 { // opened twice: it appends
		f, err := OpenFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f.now = func() time.Time { return at }
		if err := f.Send(owed); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	text, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	n := 0
	for e, err := range Decode(text) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if e.Ref != owed.Ref || !e.Time.Equal(at) || e.Outcome != owed.Outcome || e.Duration != owed.Duration || e.Attempt != 2 {
			t.Errorf("read back %+v", e.Record)
		}
	}
	if n != 2 {
		t.Errorf("%d records, want 2", n)
	}
}

func TestOpenFileRefuses(t *testing.T) {
	dir := t.TempDir()
	canary, twice := filepath.Join(dir, "canary"), filepath.Join(dir, "twice")
	link, hard, fifo := filepath.Join(dir, "link"), filepath.Join(dir, "hard"), filepath.Join(dir, "fifo")
	for _, err := range []error{os.WriteFile(canary, nil, 0o600), os.WriteFile(twice, nil, 0o600),
		os.Symlink(canary, link), os.Link(twice, hard), syscall.Mkfifo(fifo, 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{link, hard, fifo, dir, "/dev/null", filepath.Join(dir, "none", "log")} {
		if f, err := OpenFile(path); err == nil {
			f.Close()
			t.Errorf("%s: opened", path)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("root only: a file of another user")
	}
	foreign := filepath.Join(dir, "foreign")
	if err := errors.Join(os.WriteFile(foreign, nil, 0o600), os.Chown(foreign, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFile(foreign); !errors.Is(err, errNotOurs) {
		t.Errorf("another user's file: %v", err)
	}
}

// A full disk must not glue two lines together.
func TestFileAfterTornLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	f, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.file.WriteString(`{"MESS`); err != nil {
		t.Fatal(err)
	}
	f.torn = true
	if err := f.Send(Record{Event: Removed}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(string(text), "\n"); len(lines) != 3 || !strings.HasPrefix(lines[1], "{") {
		t.Errorf("lines %q", lines)
	}
}
