package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	_ "unsafe" // for go:linkname
)

// journalSocket is the library's own variable: it has no other way to send
// anywhere but to the machine's journal.
//
//go:linkname journalSocket github.com/coreos/go-systemd/v22/journal.journalSocket
var journalSocket string

// fakeJournal is a journal socket. What it received is read with next.
type fakeJournal struct{ conn *net.UnixConn }

func newFakeJournal(t *testing.T) fakeJournal {
	t.Helper()
	path := filepath.Join(t.TempDir(), "socket")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	useSocket(t, path)
	t.Cleanup(func() { conn.Close() })
	return fakeJournal{conn}
}

// useSocket leads the library to another socket for one test.
func useSocket(t *testing.T, path string) {
	old := journalSocket
	journalSocket = path
	t.Cleanup(func() { journalSocket = old })
}

// next decodes one record as journald does: from the datagram, or from the
// file that came with an empty one.
func (j fakeJournal) next(t *testing.T) map[string]string {
	t.Helper()
	buf, oob := make([]byte, 1<<20), make([]byte, 256)
	if err := j.conn.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	n, oobn, _, _, err := j.conn.ReadMsgUnix(buf, oob)
	if err != nil {
		t.Fatal(err)
	}
	data := buf[:n]
	if oobn > 0 {
		data = readPassed(t, oob[:oobn])
	}
	fields, err := decodeNative(data)
	if err != nil {
		t.Fatal(err)
	}
	return fields
}

func readPassed(t *testing.T, oob []byte) []byte {
	t.Helper()
	messages, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		t.Fatal(err)
	}
	fds, err := syscall.ParseUnixRights(&messages[0])
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fds[0]), "passed")
	defer file.Close()
	data, err := io.ReadAll(io.NewSectionReader(file, 0, 1<<30))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func decodeNative(data []byte) (map[string]string, error) {
	fields := map[string]string{}
	for len(data) > 0 {
		line, rest, ok := bytes.Cut(data, []byte("\n"))
		if !ok {
			return nil, errors.New("a field without its end")
		}
		name, value, ok := bytes.Cut(line, []byte("="))
		if !ok {
			size := binary.LittleEndian.Uint64(rest)
			value, rest = rest[8:8+size], rest[8+size+1:]
		}
		if _, twice := fields[string(name)]; twice {
			return nil, errors.New("a field stands twice: " + string(name))
		}
		fields[string(name)] = string(value)
		data = rest
	}
	return fields, nil
}

// kept is a sender that keeps what it is sent.
type kept struct {
	mu      sync.Mutex
	records []Record
	err     error
}

func (k *kept) Send(r Record) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	r.Counts = maps.Clone(r.Counts)
	k.records = append(k.records, r)
	return k.err
}

func (k *kept) events() string {
	var words []string
	for _, r := range k.records {
		words = append(words, string(r.Event))
	}
	return strings.Join(words, " ")
}
