package lockfile

import (
	"os"
	"path/filepath"
	"testing"

	"job-cleanup/pkg/clean/cleantest"
)

func TestParse(t *testing.T) {
	const boot = "1e51b14e2f8c46299b57377b701a89a0"
	tests := []struct {
		content string
		lenient bool
		want    holder
		ok      bool
	}{
		{"4711", false, holder{pid: 4711}, true},
		{"      4711\n", false, holder{pid: 4711}, true},
		{"4711\x00", false, holder{pid: 4711}, true},
		{"4711 build7", false, holder{pid: 4711, host: "build7"}, true},
		{"build7.example.org:4711", false, holder{pid: 4711, host: "build7.example.org"}, true},
		{"4711@build7", false, holder{pid: 4711, host: "build7"}, true},
		{"4711\nours\n", false, holder{pid: 4711, host: "ours"}, true},
		{"4711\nqbatch\nbuild7\n", false, holder{pid: 4711, host: "build7"}, true},
		{"4711\nqbatch\nbuild7\nffff\n1e51b14e-2f8c-4629-9b57-377b701a89a0\n", false, holder{pid: 4711, host: "build7", boot: boot}, true},
		{"PID=4711\nHost = build7\nother=1", false, holder{pid: 4711, host: "build7"}, true},
		{"pid: 4711\nstart-time: 99\nboot_id: " + boot, false, holder{pid: 4711, start: 99, boot: boot}, true},
		{`{"pid": "4711", "hostname": "build7", "start_time": 99, "deep": {"pid": 1}}`, false, holder{pid: 4711, start: 99, host: "build7"}, true},
		{`{"pid": 4711} trailing`, false, holder{}, false},
		{`{"pid": 4711.5}`, false, holder{}, false},
		{`{"pid": 4711`, false, holder{}, false},
		{"pid=1\npid=2", false, holder{}, false},
		{"pid=1\nhost=a\nhostname=b", false, holder{}, false},
		{"4711\n/var/lib/data\n1700000000\n5432\n", false, holder{}, false},
		{"4711\n/var/lib/data\n1700000000\n5432\n", true, holder{pid: 4711}, true},
		{"4711 cu root", false, holder{}, false},
		{"4711 cu root", true, holder{pid: 4711}, true},
		{"batch 4711", true, holder{}, false},
		{"+4711", false, holder{}, false},
		{"4711x", true, holder{}, false},
		{"47\x0011", true, holder{}, false},
		{"\xff\xfe", true, holder{}, false},
		{" \n", true, holder{}, false},
	}
	for _, tt := range tests {
		got, ok := parse([]byte(tt.content), "ours", tt.lenient)
		if ok != tt.ok || ok && got != tt.want {
			t.Errorf("parse(%q, lenient %v) = %+v, %v; want %+v, %v", tt.content, tt.lenient, got, ok, tt.want, tt.ok)
		}
	}
}

// FuzzParse checks that no content makes a holder that kill(2) would read as
// more than one process.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"1", "-1", "0", "a:0", "{}", `{"pid":-1}`, "pid=0", "1@", ":1", "@", "\n1", " "} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, lenient := range []bool{false, true} {
			if h, ok := parse(content, "ours", lenient); ok && h.pid <= 0 {
				t.Errorf("parse(%q) = %+v", content, h)
			}
		}
		if h, ok := parseLink(string(content)); ok && h.pid <= 0 {
			t.Errorf("parseLink(%q) = %+v", content, h)
		}
	})
}

func TestStartOfStrangeNames(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "proc/7"), 0o755); err != nil {
		t.Fatal(err)
	}
	stat := filepath.Join(root, "proc/7/stat")
	write(t, stat, "7 (a) R 1) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 99 1\n")
	m := machine{root: root}
	if got, err := m.start(7); err != nil || got != 4242 {
		t.Errorf("start = %d, %v; want 4242", got, err)
	}
	write(t, stat, "7 (a) S 1")
	if _, err := m.start(7); err == nil {
		t.Error("a stat that is cut off has a start")
	}
	if _, err := m.boot(); err == nil {
		t.Error("a machine without a boot id has one")
	}
}

// TestHiddenProcess is a live process whose start nobody tells us.
func TestHiddenProcess(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "proc/sys/kernel/random"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "proc/sys/kernel/random/boot_id"), "1e51b14e-2f8c-4629-9b57-377b701a89a0\n")
	m := machine{root: root, alive: func(int) (bool, error) { return true, nil }}
	if got := cleantest.Verdict(m.dead(holder{pid: 7, start: 5, exact: true})); got != isInUse {
		t.Errorf("start is hidden: %s", got)
	}
	if got := cleantest.Verdict(m.dead(holder{pid: 7, host: "anywhere"})); got != isInUse {
		t.Errorf("our own name is not known: %s", got)
	}
}
