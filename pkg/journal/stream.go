package journal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
)

// Stream writes records as lines of text.
type Stream struct {
	mu       sync.Mutex
	out      io.Writer
	priority bool
}

// NewStream returns a sender that writes one line a record to out. With
// priority each line begins with the level as in sd-daemon(3), "<4>", which
// journald takes off again when out leads to it.
func NewStream(out io.Writer, priority bool) *Stream {
	return &Stream{out: out, priority: priority}
}

// Send writes the record as one line, in one write.
func (s *Stream) Send(r Record) error {
	line := Text(r) + "\n"
	if s.priority {
		line = fmt.Sprintf("<%d>%s", r.level(), line)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := io.WriteString(s.out, line)
	return err
}

// IsJournal reports whether an open file is the journal's stream that
// JOURNAL_STREAM= names as DEVICE:INODE; see systemd.exec(5). The variable
// alone proves nothing: a child inherits it also when its output is redirected.
func IsJournal(file *os.File, stream string) bool {
	info, err := file.Stat()
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && strings.TrimSpace(stream) == fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
}
