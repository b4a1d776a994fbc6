package journal

import (
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	native "github.com/coreos/go-systemd/v22/journal"

	"job-cleanup/pkg/outcome"
)

var owed = Record{
	Event: Owed, Unit: "batch@1.service", Invocation: "0123456789abcdef0123456789abcdef",
	Step: "tree", Source: "/etc/systemd/system/batch@.service:12", Kind: "path", Type: "path",
	Ref: "/tmp/a\nMESSAGE=forged\n\xff\x00", ResidueID: "0011223344556677", Reason: "immutable",
	Detail: "unlink: operation not permitted", Duration: 1500 * time.Microsecond, Attempt: 2,
	Outcome: outcome.Outcome{Result: "signal", Code: "killed", Status: "TERM"},
	Extra:   map[string]string{"JOB_CLEANUP_MODE": "0755", "lower": "x", "_UID": "0", "MESSAGE": "y", "A B": "z", "1A": "z"},
}

func TestNativeFields(t *testing.T) {
	fake := newFakeJournal(t)
	if err := patient(true).Send(owed); err != nil {
		t.Fatal(err)
	}
	got := fake.next(t)
	want := map[string]string{
		"MESSAGE":                   `owed path /tmp/a\x0aMESSAGE=forged\x0a\xff\x00 (immutable): unlink: operation not permitted, attempt 2`,
		"MESSAGE_ID":                "858e453a413d480eb41da080cb057165",
		"PRIORITY":                  "4",
		"SYSLOG_IDENTIFIER":         "job-cleanup",
		"OBJECT_SYSTEMD_UNIT":       "batch@1.service",
		"JOB_CLEANUP_EVENT":         "owed",
		"JOB_CLEANUP_STATUS":        "owed",
		"JOB_CLEANUP_UNIT":          owed.Unit,
		"JOB_CLEANUP_INVOCATION":    owed.Invocation,
		"JOB_CLEANUP_STEP":          "tree",
		"JOB_CLEANUP_SOURCE":        owed.Source,
		"JOB_CLEANUP_KIND":          "path",
		"JOB_CLEANUP_TYPE":          "path",
		"JOB_CLEANUP_REF":           owed.Ref,
		"JOB_CLEANUP_RESIDUE_ID":    owed.ResidueID,
		"JOB_CLEANUP_REASON":        "immutable",
		"JOB_CLEANUP_DETAIL":        owed.Detail,
		"JOB_CLEANUP_DURATION_USEC": "1500",
		"JOB_CLEANUP_ATTEMPT":       "2",
		"JOB_CLEANUP_MODE":          "0755",
		"SERVICE_RESULT":            "signal",
		"EXIT_CODE":                 "killed",
		"EXIT_STATUS":               "TERM",
	}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s=%q, want %q", name, got[name], value)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s=%q was sent", name, got[name])
		}
	}
}

// patient is a Native that waits for a busy machine: what it gave up would run
// on into the next test.
func patient(objectUnit bool) *Native {
	n := NewNative(objectUnit)
	n.patience = 30 * time.Second
	return n
}

func TestNativeObjectUnit(t *testing.T) {
	fake := newFakeJournal(t)
	for _, c := range []struct {
		object bool
		unit   string
		want   string
	}{{true, "a.service", "a.service"}, {false, "a.service", ""}, {true, "github", ""}} {
		if err := patient(c.object).Send(Record{Event: Armed, Unit: c.unit}); err != nil {
			t.Fatal(err)
		}
		if got := fake.next(t)["OBJECT_SYSTEMD_UNIT"]; got != c.want {
			t.Errorf("unit %q, told %v: OBJECT_SYSTEMD_UNIT=%q, want %q", c.unit, c.object, got, c.want)
		}
	}
}

func TestNativeLargeRecord(t *testing.T) {
	fake := newFakeJournal(t)
	large := strings.Repeat("line\n", 200_000)
	if err := patient(false).Send(Record{Event: CommandOutput, Ref: large}); err != nil {
		t.Fatal(err)
	}
	if got := fake.next(t)["JOB_CLEANUP_REF"]; got != large {
		t.Errorf("got %d bytes, want %d", len(got), len(large))
	}
}

func TestNativeLargeRecordWithoutRoom(t *testing.T) {
	fake := newFakeJournal(t)
	n := patient(false)
	n.send = func(message string, p native.Priority, vars map[string]string) error {
		if len(vars["JOB_CLEANUP_REF"]) > 100_000 {
			return errors.New("no room in /dev/shm")
		}
		return native.Send(message, p, vars)
	}
	if err := n.Send(Record{Event: Owed, Ref: strings.Repeat("x", 200_000)}); err != nil {
		t.Fatal(err)
	}
	got := fake.next(t)
	if got["JOB_CLEANUP_TRUNCATED"] != "1" || len(got["JOB_CLEANUP_REF"]) != shortValue || got["JOB_CLEANUP_EVENT"] != "owed" {
		t.Errorf("truncated %q, %d bytes", got["JOB_CLEANUP_TRUNCATED"], len(got["JOB_CLEANUP_REF"]))
	}
}

func TestNativeAbsent(t *testing.T) {
	useSocket(t, filepath.Join(t.TempDir(), "none"))
	n := patient(false)
	if n.Available() {
		t.Error("available without a socket")
	}
	var other kept
	if err := First(n, &other).Send(Record{Event: Removed}); err != nil || other.events() != "removed" {
		t.Errorf("fallback got %q, %v", other.events(), err)
	}
}

// A journal that stopped reading must not stop the cleanup.
func TestNativeFullQueue(t *testing.T) {
	fake := newFakeJournal(t)
	filler, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: journalSocket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer filler.Close()
	fill(t, filler)
	n := NewNative(false)
	n.patience = 50 * time.Millisecond
	begin := time.Now()
	for range 200 {
		if err := n.Send(Record{Event: Removed}); !errors.Is(err, errStuck) {
			t.Fatalf("got %v, want errStuck", err)
		}
	}
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("200 records took %v", took)
	}
	fake.conn.Close() // which ends the write that was given up
	select {
	case <-n.turn:
	case <-time.After(10 * time.Second):
		t.Error("the write that was given up goes on")
	}
}

// fill sends from another socket until the queue takes no more.
func fill(t *testing.T, conn *net.UnixConn) {
	t.Helper()
	for range 100_000 {
		if err := conn.SetWriteDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write([]byte("MESSAGE=x\n")); err != nil {
			return
		}
	}
	t.Fatal("the queue has no end")
}

// Once the write that was given up has ended, the journal is used again.
func TestNativeRecovers(t *testing.T) {
	release, ended := make(chan struct{}), make(chan struct{})
	n := NewNative(false)
	n.patience = 10 * time.Millisecond
	first := true
	n.send = func(string, native.Priority, map[string]string) error {
		if first {
			first = false
			<-release
			close(ended)
		}
		return nil
	}
	if err := n.Send(Record{Event: Removed}); !errors.Is(err, errStuck) {
		t.Fatalf("got %v, want errStuck", err)
	}
	close(release)
	<-ended
	for begin := time.Now(); n.Send(Record{Event: Removed}) != nil; {
		if time.Since(begin) > 5*time.Second {
			t.Fatal("never used again")
		}
	}
}
