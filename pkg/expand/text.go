package expand

import (
	"strings"

	"job-cleanup/pkg/outcome"
)

// Origin says where a piece of expanded text came from.
type Origin int

// The origins.
const (
	Written   Origin = iota // text of the plan
	Specified               // a specifier
	Variable                // the environment
	Default                 // text of the plan behind ":-"
)

// Piece is a part of an expanded text.
type Piece struct {
	Text     string
	Origin   Origin
	Identity bool // from a specifier that tells one job from another, or from the environment
}

// Use says what a text took from the environment.
type Use struct {
	Env       bool // a ${…} stands in it, whether it was set or not
	Defaulted bool // one of them was unset, its default was taken
}

// Result is an expanded text.
type Result struct {
	Use
	Pieces []Piece
}

// Text returns the whole text.
func (r Result) Text() string { return r.join(func(s string) string { return s }) }

// globEscape puts a backslash before what means something in a pattern.
var globEscape = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`)

// Glob returns the whole text as a pattern in which only the plan's own text
// can hold wildcards.
func (r Result) Glob() string { return r.join(globEscape.Replace) }

// join puts the pieces together, those that were expanded through quote.
func (r Result) join(quote func(string) string) string {
	var b strings.Builder
	for _, p := range r.Pieces {
		if p.Origin == Written {
			b.WriteString(p.Text)
		} else {
			b.WriteString(quote(p.Text))
		}
	}
	return b.String()
}

// Expand replaces specifiers and variables in the value of a key. Without an
// environment (nil) every ${…} is an error, also one with a default, which
// might not be what the job meant. Errors are *Error.
func Expand(text string, specs Specifiers, env outcome.Lookup) (Result, error) {
	if strings.ContainsAny(text, "\x00\n") {
		return Result{}, faultf("write it on one line", "text holds a NUL or a newline")
	}
	s := scanner{in: text, specs: specs, env: env}
	err := s.run()
	return s.out, err
}

// literal checks text that was expanded, which name names.
func literal(name, text string) error {
	if strings.ContainsAny(text, "\x00\n") {
		return faultf("", "%s holds a NUL or a newline", name)
	}
	if strings.Trim(text, "/") == "" {
		return faultf("in a path it would name the folder above", "%s is nothing but slashes", name)
	}
	for part := range strings.SplitSeq(text, "/") {
		if part == "." || part == ".." {
			return faultf("expanded text must stay where the plan puts it", "%s holds a %q component", name, part)
		}
	}
	return nil
}

// Some reports whether accept takes one of the pieces. It is given the text
// before and behind each.
func (r Result) Some(accept func(before string, p Piece, after string) bool) bool {
	whole, at := r.Text(), 0
	for _, p := range r.Pieces {
		end := at + len(p.Text)
		if accept(whole[:at], p, whole[end:]) {
			return true
		}
		at = end
	}
	return false
}
