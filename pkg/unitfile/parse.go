package unitfile

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxLine is the longest line, continuations included, that is read; it is
// the manager's own limit.
const maxLine = 1 << 20

// blank is what systemd.syntax(7) strips: it knows no Unicode spaces.
const blank = " \t\r\n"

// Entry is one assignment, "Key=Value".
type Entry struct {
	Key   string // as written, without the blanks around it
	Value string // continuations joined, without the blanks around it; may be empty
	File  string // the path given to Parse
	Line  int    // the first line of the assignment, from 1
}

// Section is one section header and the assignments below it.
type Section struct {
	Name    string // the text between the brackets, as written
	File    string
	Line    int // of the header
	Entries []Entry
	Bad     []Problem // lines in it that could not be read, so that a step can be refused instead of half obeyed
}

// Problem is something wrong in a file. It is an error.
type Problem struct {
	File string
	Line int    // from 1; 0 means the file as a whole
	Text string // what is wrong: short, lower case
	Hint string // what to do about it; may be empty
}

// Error prints FILE:LINE: text, without the hint.
func (p Problem) Error() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s", p.File, p.Text)
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
}

// Parse reads a file of the form of systemd.syntax(7). A section that is
// repeated is returned as often as it stands there, in order. The path is for
// positions only. A line that can't be read is a Problem, and reading goes on
// with the next one.
func Parse(path string, text []byte) ([]Section, []Problem) {
	p := parser{file: path}
	lines := reader{rest: bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))}
	for {
		line, ok := lines.next()
		if !ok {
			return p.sections, p.problems
		}
		p.line(line)
	}
}

// parser collects what the logical lines of one file say.
type parser struct {
	file     string
	sections []Section
	problems []Problem
	lost     bool // below a header that could not be read: nobody knows what the keys belong to
}

// line reads one logical line.
func (p *parser) line(l logical) {
	text := strings.Trim(l.text, blank)
	switch {
	case l.tooLong:
		p.bad(l.line, fmt.Sprintf("line is longer than %d bytes", maxLine), "split it into several assignments")
	case strings.ContainsRune(text, 0):
		p.bad(l.line, "line has a NUL byte", "the file is damaged or not a text file")
	case !utf8.ValidString(text):
		p.bad(l.line, "line is not valid UTF-8", "the service manager ignores such a line too")
	case text == "":
	case text[0] == '[':
		p.header(l.line, text)
	default:
		p.assignment(l.line, text)
	}
}

// header begins a section.
func (p *parser) header(line int, text string) {
	name, ok := strings.CutSuffix(text[1:], "]")
	if !ok || name == "" {
		p.lost = true
		p.problem(line, fmt.Sprintf("section header %q is not of the form [Name]", clip(text)),
			"close the bracket; what stands below it is not read up to the next header")
		return
	}
	p.lost = false
	p.sections = append(p.sections, Section{Name: name, File: p.file, Line: line})
}

// assignment adds Key=Value to the section it stands in.
func (p *parser) assignment(line int, text string) {
	key, value, ok := strings.Cut(text, "=")
	key, value = strings.TrimRight(key, blank), strings.TrimLeft(value, blank)
	switch {
	case p.lost:
	case !ok:
		p.bad(line, fmt.Sprintf("line %q has no %q", clip(text), "="), "write Key=Value, or begin a comment with #")
	case key == "":
		p.bad(line, "nothing stands before the \"=\"", "write Key=Value")
	case len(p.sections) == 0:
		p.problem(line, fmt.Sprintf("%q stands outside of any section", clip(key)), "put a [Section] line above it")
	default:
		s := &p.sections[len(p.sections)-1]
		s.Entries = append(s.Entries, Entry{Key: key, Value: value, File: p.file, Line: line})
	}
}

// problem notes something that belongs to no section.
func (p *parser) problem(line int, text, hint string) {
	p.problems = append(p.problems, Problem{File: p.file, Line: line, Text: text, Hint: hint})
}

// bad notes a line that can't be read, and with the section it stands in.
func (p *parser) bad(line int, text, hint string) {
	p.problem(line, text, hint)
	if len(p.sections) > 0 && !p.lost {
		s := &p.sections[len(p.sections)-1]
		s.Bad = append(s.Bad, p.problems[len(p.problems)-1])
	}
}

// clip shortens what a message repeats of a file.
func clip(text string) string {
	const most = 60
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
