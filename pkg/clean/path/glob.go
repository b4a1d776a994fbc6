package path

import (
	"errors"
	"fmt"
	"strings"
)

// maxPath is the kernel's own limit for one path.
const maxPath = 4096

// pattern is an absolute path with wildcards, matched component by component.
// Wildcards follow glob(7): * ? and [ ] never match a slash, nor a dot that
// begins a name; a backslash makes the next character literal.
type pattern struct {
	text    string
	parts   []part
	dirOnly bool // it ended in a slash
}

// part is one component.
type part struct {
	name  string // the literal name, when it has no wildcard
	steps []step // nil for a literal
}

// step matches one character, or any number of them.
type step struct {
	kind   stepKind
	char   rune
	not    bool
	ranges []rune // pairs, both ends included
}

type stepKind int

const (
	oneChar stepKind = iota
	anyChar
	oneOf
	anyRun
)

// parsePattern reads a pattern. What glob(7) leaves unspecified or what would
// be read as something else than was meant (an open bracket, a character
// class) is an error.
func parsePattern(text string) (pattern, error) {
	p := pattern{text: text}
	if err := plausible(text); err != nil {
		return p, err
	}
	p.dirOnly = strings.HasSuffix(text, "/")
	for _, piece := range strings.Split(text, "/") {
		if piece == "" {
			continue
		}
		c, err := parsePart(piece)
		if err != nil {
			return p, fmt.Errorf("%q: %w", text, err)
		}
		p.parts = append(p.parts, c)
	}
	return p, nil
}

// plausible refuses what can't be an absolute path.
func plausible(text string) error {
	switch {
	case text == "":
		return errors.New("the path is empty")
	case text[0] != '/':
		return fmt.Errorf("%q is not an absolute path", text)
	case strings.IndexByte(text, 0) >= 0:
		return fmt.Errorf("%q has a NUL byte", text)
	case len(text) >= maxPath:
		return fmt.Errorf("the path is longer than %d bytes", maxPath-1)
	}
	return nil
}

// literalPattern is the pattern that matches path alone, wildcards in it
// being ordinary characters.
func literalPattern(path string) (pattern, error) {
	p := pattern{text: path}
	names, err := split(path)
	for _, name := range names {
		p.parts = append(p.parts, part{name: name})
	}
	p.dirOnly = strings.HasSuffix(path, "/")
	return p, err
}

// split cuts an absolute path into its components. Dots are refused: what
// they mean depends on links.
func split(path string) ([]string, error) {
	if err := plausible(path); err != nil {
		return nil, err
	}
	var names []string
	for _, name := range strings.Split(path, "/") {
		if name == "." || name == ".." {
			return nil, fmt.Errorf("%q has a %q component", path, name)
		}
		if name != "" {
			names = append(names, name)
		}
	}
	return names, nil
}

// literal reports whether the component is one plain name.
func (c part) literal() bool { return c.steps == nil }

// specific reports whether a character of the name is given at all.
func (c part) specific() bool {
	if c.literal() {
		return true
	}
	for _, s := range c.steps {
		if s.kind == oneChar {
			return true
		}
	}
	return false
}

// matches reports whether the component matches a file name. Only with dots
// does a wildcard match a leading dot.
func (c part) matches(name string, dots bool) bool {
	if c.literal() {
		return c.name == name
	}
	if name == "" || name == "." || name == ".." {
		return false
	}
	if name[0] == '.' && !dots && (c.steps[0].kind != oneChar || c.steps[0].char != '.') {
		return false
	}
	return c.run(name)
}

// run goes back to the last star only, which is enough and takes no more than
// len(name) × len(steps).
func (c part) run(name string) bool {
	at, pos := 0, 0
	star, mark := -1, 0
	for pos < len(name) {
		char, n := decode(name[pos:])
		switch {
		case at < len(c.steps) && c.steps[at].kind == anyRun:
			star, mark = at, pos
			at++
		case at < len(c.steps) && c.steps[at].accepts(char):
			at++
			pos += n
		case star >= 0:
			_, n = decode(name[mark:])
			mark += n
			at, pos = star+1, mark
		default:
			return false
		}
	}
	for at < len(c.steps) && c.steps[at].kind == anyRun {
		at++
	}
	return at == len(c.steps)
}

func (s step) accepts(char rune) bool {
	switch s.kind {
	case anyChar:
		return true
	case oneChar:
		return char == s.char
	}
	for i := 0; i < len(s.ranges); i += 2 {
		if s.ranges[i] <= char && char <= s.ranges[i+1] {
			return !s.not
		}
	}
	return s.not
}

// fixed is the number of leading components without a wildcard.
func (p pattern) fixed() int {
	for i, c := range p.parts {
		if !c.literal() {
			return i
		}
	}
	return len(p.parts)
}

// join writes components as an absolute path.
func join(names []string) string { return "/" + strings.Join(names, "/") }

// names are the literal components at the front.
func (p pattern) names(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = p.parts[i].name
	}
	return out
}
