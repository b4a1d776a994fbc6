package unitfile

import (
	"bytes"
	"strings"
)

// logical is a line after its continuations were joined.
type logical struct {
	text    string
	line    int // its first line in the file, from 1
	tooLong bool
}

// reader cuts a file into logical lines.
type reader struct {
	rest []byte
	line int // lines read so far
}

// next returns the next line that is not a comment. A comment between
// continued lines is skipped, and neither ends nor joins the line around it.
func (r *reader) next() (logical, bool) {
	var l logical
	var joined strings.Builder
	for {
		part, ok := r.physical()
		if !ok {
			l.text = joined.String()
			return l, l.line > 0 // a backslash before the end of the file continues nothing
		}
		if comment(part) {
			continue
		}
		if l.line == 0 {
			l.line = r.line
		}
		more := continued(part)
		if more {
			part = part[:len(part)-1]
		}
		if joined.Len()+len(part) > maxLine {
			l.tooLong = true
			joined.Reset()
		}
		if !l.tooLong {
			joined.Write(part)
		}
		if !more {
			l.text = joined.String()
			return l, true
		}
		joined.WriteByte(' ')
	}
}

// physical returns the next line without its end: LF, CR LF, or a CR alone,
// as the manager takes it.
func (r *reader) physical() ([]byte, bool) {
	if len(r.rest) == 0 {
		return nil, false
	}
	r.line++
	i := bytes.IndexAny(r.rest, "\r\n")
	if i < 0 {
		line := r.rest
		r.rest = nil
		return line, true
	}
	line, end := r.rest[:i], i+1
	if r.rest[i] == '\r' && end < len(r.rest) && r.rest[end] == '\n' {
		end++
	}
	r.rest = r.rest[end:]
	return line, true
}

// comment reports whether a line is one.
func comment(line []byte) bool {
	line = bytes.TrimLeft(line, blank)
	return len(line) > 0 && (line[0] == '#' || line[0] == ';')
}

// continued reports whether the next line belongs to this one: an odd number
// of backslashes at its very end, since a backslash escapes a backslash.
func continued(line []byte) bool {
	n := len(line) - len(bytes.TrimRight(line, `\`))
	return n%2 == 1
}
