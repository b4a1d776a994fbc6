package ledger

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// maxDamage bounds how many damaged lines are told apart; all are counted.
const maxDamage = 100

// Damage is a line that could not be read.
type Damage struct {
	Line int    // from 1
	Why  string // for people
}

// Replay reads a ledger's text. Damage is not an error but stands in the
// state; an error is one of reading, and what was read until then is
// returned with it.
func Replay(r io.Reader) (*State, error) {
	s := newState()
	err := scan(r, func(l line) {
		switch l.class {
		case good, newer:
			s.apply(l.record)
			s.newer = s.newer || l.class == newer
		case unknown:
			s.Unknown = append(s.Unknown, string(l.text))
		case torn:
			s.Torn++
		case damaged:
			s.harm(l)
		}
	})
	return s, err
}

func (s *State) harm(l line) {
	s.damaged++
	if len(s.Damage) < maxDamage {
		s.Damage = append(s.Damage, Damage{Line: l.number, Why: l.err.Error()})
	}
}

// line is what scan found. The text is valid until the next one.
type line struct {
	number int
	text   []byte
	class  class
	record Record
	err    error
}

var (
	errLongLine = fmt.Errorf("longer than %d bytes", MaxLine)
	errLongFile = fmt.Errorf("the file is longer than %d bytes", MaxFile)
)

// scan calls visit for every line that is not blank, and stops after MaxFile
// bytes, which is a damage.
func scan(r io.Reader, visit func(line)) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var buf []byte
	total := 0
	for number := 1; ; number++ {
		text, size, err := readLine(in, buf[:0])
		buf = text
		total += size
		l := line{number: number, text: text}
		switch {
		case total > MaxFile:
			l.class, l.err = damaged, errLongFile
		case size > MaxLine:
			l.class, l.err = damaged, errLongLine
		default:
			l.record, l.class, l.err = decode(text)
		}
		last := errors.Is(err, io.EOF)
		if last && l.class == damaged && total <= MaxFile {
			l.class = torn // no newline: the write of it never ended
		}
		if l.class != blank {
			visit(l)
		}
		if last || total > MaxFile {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read ledger: %w", err)
		}
	}
}

// readLine reads up to the newline, which it drops, and returns how many bytes
// that were. At most MaxLine of them are kept.
func readLine(in *bufio.Reader, buf []byte) (text []byte, size int, err error) {
	for {
		part, err := in.ReadSlice('\n')
		size += len(part)
		if len(buf)+len(part) <= MaxLine+1 {
			buf = append(buf, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			if size > MaxFile {
				return buf, size, nil
			}
			continue
		}
		if err == nil {
			if n := len(buf); n > 0 && buf[n-1] == '\n' {
				buf = buf[:n-1]
			}
		}
		return buf, size, err
	}
}
