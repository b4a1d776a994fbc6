package command

import (
	"bytes"
	"io"
)

// What a command may print until the rest is dropped, and how long a line may
// be until it is broken.
const (
	maxBytes = 64 << 10
	maxLines = 1000
	maxLine  = 4 << 10
)

// truncated stands for all that was dropped.
const truncated = "… truncated\n"

// lines hands on what a command prints, one line with its newline at a time,
// and only so much of it. It takes all that comes, so that a command never
// stops on a full pipe.
type lines struct {
	to    io.Writer // nil drops all
	part  []byte    // a line without its end
	bytes int
	count int
	full  bool
}

// Write never fails: a journal that does not take the output is no reason to
// break off a cleanup.
func (l *lines) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 && !l.full && l.to != nil {
		end := bytes.IndexByte(p, '\n') + 1
		if end == 0 {
			end = len(p)
		}
		end = min(end, maxLine-len(l.part))
		l.part = append(l.part, p[:end]...)
		p = p[end:]
		if l.part[len(l.part)-1] == '\n' || len(l.part) == maxLine {
			l.flush()
		}
	}
	return n, nil
}

// flush hands on the line that was begun.
func (l *lines) flush() {
	if len(l.part) == 0 || l.full {
		return
	}
	line := l.part
	if line[len(line)-1] != '\n' {
		line = append(line, '\n')
	}
	l.part = nil
	if l.count++; l.count > maxLines || l.bytes+len(line) > maxBytes {
		l.full = true
		line = []byte(truncated)
	}
	l.bytes += len(line)
	_, _ = l.to.Write(line)
}
