package expand

import (
	"fmt"
	"strings"

	"job-cleanup/pkg/outcome"
)

// mask goes before a byte that stands for itself. No text that is scanned
// holds a NUL of its own.
const mask = 0

// scanner expands one text, or one word of a command line.
type scanner struct {
	in      string
	pos     int
	specs   Specifiers
	env     outcome.Lookup
	command bool // a word of a command line: $( and $1 are the shell's
	inner   bool // the default of a variable: no variables in it

	plain strings.Builder // text of the plan since the last piece
	out   Result
}

// run reads to the end.
func (s *scanner) run() error {
	for s.pos < len(s.in) {
		var err error
		switch c := s.in[s.pos]; c {
		case mask:
			s.plain.WriteByte(s.in[s.pos+1])
			s.pos += 2
		case '%':
			err = s.specifier()
		case '$':
			err = s.dollar()
		default:
			s.plain.WriteByte(c)
			s.pos++
		}
		if err != nil {
			return err
		}
	}
	s.flush()
	return nil
}

// flush makes a piece of the text that was read since the last one.
func (s *scanner) flush() {
	if s.plain.Len() == 0 {
		return
	}
	p := Piece{Text: s.plain.String(), Origin: Written}
	if s.inner {
		p.Origin = Default
	}
	s.out.Pieces = append(s.out.Pieces, p)
	s.plain.Reset()
}

// add appends pieces that were expanded.
func (s *scanner) add(pieces ...Piece) {
	s.flush()
	s.out.Pieces = append(s.out.Pieces, pieces...)
}

// specifier reads %c.
func (s *scanner) specifier() error {
	if s.pos+1 >= len(s.in) || s.in[s.pos+1] == mask {
		return faultf("write %% for a percent sign", "a percent sign stands alone")
	}
	c := s.in[s.pos+1]
	s.pos += 2
	if c == '%' {
		s.plain.WriteByte('%')
		return nil
	}
	v, err := s.specs.Expand(c)
	if err != nil {
		return err
	}
	l, _ := letter(c)
	s.add(Piece{Text: v, Origin: Specified, Identity: l.Identity})
	return nil
}

// dollar reads $$, ${…}, or a dollar sign that stands for itself.
func (s *scanner) dollar() error {
	rest := s.in[s.pos+1:]
	switch {
	case strings.HasPrefix(rest, "$"):
		s.plain.WriteByte('$')
		s.pos += 2
		return nil
	case strings.HasPrefix(rest, "{"):
		return s.variable()
	}
	if n := nameLen(rest); n > 0 {
		return faultf(fmt.Sprintf("write ${%s}, or $$ for a dollar sign", rest[:n]), "variable %q without braces", "$"+rest[:n])
	}
	if !s.command && rest != "" && strings.IndexByte("(0123456789", rest[0]) >= 0 {
		return faultf("no shell reads this; write $$ for a dollar sign", "%q is not a variable", "$"+rest[:1])
	}
	s.plain.WriteByte('$')
	s.pos++
	return nil
}

// variable reads ${NAME} or ${NAME:-default}.
func (s *scanner) variable() error {
	start := s.pos + len("${")
	end := s.closing(start)
	if end < 0 {
		return faultf("write ${NAME}; in a command line put quotes around one whose default has blanks", "a variable's brace is not closed")
	}
	body := s.in[start:end]
	s.pos = end + 1
	name := body[:nameLen(body)]
	fallback, given := strings.CutPrefix(body[len(name):], ":-")
	switch {
	case s.inner || strings.Contains(body, "${"):
		return faultf("give the inner one a line of its own", "a variable stands inside of a variable")
	case name == "" || len(body) > len(name) && !given:
		return faultf("only ${NAME} and ${NAME:-default} are known", "%q is not a variable", strings.ReplaceAll("${"+body+"}", "\x00", ""))
	case given && fallback == "":
		return unset(name, "the default of variable %q is empty", "leave :- away, or write a default")
	}
	return s.value(name, fallback)
}

// value adds what a variable stands for.
func (s *scanner) value(name, fallback string) error {
	s.out.Env = true
	if s.env == nil {
		return unset(name, "variable %q can't be read: the job's environment is gone", "")
	}
	if v, _ := s.env(name); v != "" {
		s.add(Piece{Text: v, Origin: Variable, Identity: true})
		return literal(fmt.Sprintf("variable %q", name), v)
	}
	if fallback == "" {
		return unset(name, "variable %q is not set, or empty", fmt.Sprintf("set it, or write ${%s:-default}", name))
	}
	d := scanner{in: fallback, specs: s.specs, command: s.command, inner: true}
	if err := d.run(); err != nil {
		return err
	}
	s.out.Defaulted = true
	s.add(d.out.Pieces...)
	return literal(fmt.Sprintf("the default of variable %q", name), d.out.Text())
}

// closing returns the index of the brace that closes a variable, or -1.
func (s *scanner) closing(from int) int {
	for i := from; i < len(s.in); i++ {
		switch s.in[i] {
		case mask:
			i++
		case '}':
			return i
		}
	}
	return -1
}

// unset makes an error about a variable without a value.
func unset(name, format, hint string) *Error {
	return &Error{Text: fmt.Sprintf(format, name), Hint: hint, Unset: true, Variable: name}
}

// nameLen returns the length of the variable name that text begins with.
func nameLen(text string) int {
	n := 0
	for n < len(text) && (text[n] == '_' || 'a' <= text[n]|0x20 && text[n]|0x20 <= 'z' || n > 0 && '0' <= text[n] && text[n] <= '9') {
		n++
	}
	return n
}
