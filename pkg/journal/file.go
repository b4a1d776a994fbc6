package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"
)

// File appends records to a log file as JSON lines, in the shape of
// journalctl -o json, so that Decode reads them too.
type File struct {
	mu   sync.Mutex
	file *os.File
	torn bool // the last line was not written to its end
	now  func() time.Time
}

var (
	errNotRegular = errors.New("not a regular file")
	errNotOurs    = errors.New("another user's file")
	errLinked     = errors.New("the file has other names too")
)

// OpenFile opens a log file, creating it with mode 0600. It must be a regular
// file of the caller's own with one name, and no link: a log file in a folder
// that others write to must not lead root to some other file.
func OpenFile(path string) (*File, error) {
	const flags = os.O_WRONLY | os.O_APPEND | os.O_CREATE | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	file, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log file: %w", err)
	}
	if err := checkOwn(file); err != nil {
		file.Close()
		return nil, fmt.Errorf("open the log file %q: %w", path, err)
	}
	return &File{file: file, now: time.Now}, nil
}

func checkOwn(file *os.File) error {
	var stat syscall.Stat_t
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var statErr error
	if err := raw.Control(func(fd uintptr) { statErr = syscall.Fstat(int(fd), &stat) }); err != nil {
		return err
	}
	switch {
	case statErr != nil:
		return statErr
	case stat.Mode&syscall.S_IFMT != syscall.S_IFREG:
		return errNotRegular
	case int(stat.Uid) != os.Geteuid():
		return errNotOurs
	case stat.Nlink > 1:
		return errLinked
	}
	return nil
}

// Send appends the record in one write, so that several processes can share
// the file.
func (f *File) Send(r Record) error {
	if r.Time.IsZero() {
		r.Time = f.now()
	}
	line, err := encode(r)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.torn {
		line = append([]byte{'\n'}, line...)
	}
	n, err := f.file.Write(line)
	f.torn = n != len(line) && (n > 0 || f.torn)
	if err != nil {
		return fmt.Errorf("write the log file: %w", err)
	}
	return nil
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// encode is the record as one line of journalctl's JSON: values are strings,
// or arrays of byte values where they are no UTF-8.
func encode(r Record) ([]byte, error) {
	line := map[string]any{fieldRealtime: strconv.FormatInt(r.Time.UnixMicro(), 10)}
	for name, value := range r.Fields() {
		line[name] = jsonValue(value)
	}
	text, err := json.Marshal(line)
	if err != nil {
		return nil, fmt.Errorf("encode a record: %w", err)
	}
	return append(text, '\n'), nil
}

func jsonValue(value string) any {
	if utf8.ValidString(value) {
		return value
	}
	bytes := make([]int, len(value)) // []byte would become base64
	for i := range len(value) {
		bytes[i] = int(value[i])
	}
	return bytes
}
