package path

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// parsePart reads one component.
func parsePart(text string) (part, error) {
	var c part
	var steps []step
	var name strings.Builder
	literal := true
	for rest := text; rest != ""; {
		s, n, err := parseStep(rest)
		if err != nil {
			return c, err
		}
		if s.kind == oneChar {
			name.WriteString(rest[n-charLen(rest[:n]) : n])
		} else {
			literal = false
		}
		steps = append(steps, s)
		rest = rest[n:]
	}
	if !literal {
		return part{steps: steps}, nil
	}
	if name.String() == "." || name.String() == ".." {
		return c, fmt.Errorf("a %q component", name.String())
	}
	return part{name: name.String()}, nil
}

// charLen is the length of the last character of a one-character step, which
// may have a backslash before it.
func charLen(text string) int {
	if len(text) > 1 && text[0] == '\\' {
		return len(text) - 1
	}
	return len(text)
}

// parseStep reads one step and tells how many bytes it took.
func parseStep(text string) (step, int, error) {
	switch text[0] {
	case '*':
		return step{kind: anyRun}, 1, nil
	case '?':
		return step{kind: anyChar}, 1, nil
	case '[':
		return parseSet(text)
	}
	char, n, err := escaped(text)
	return step{kind: oneChar, char: char}, n, err
}

// escaped reads one character, which a backslash may make literal.
func escaped(text string) (rune, int, error) {
	skip := 0
	if text[0] == '\\' {
		skip = 1
		if len(text) == 1 {
			return 0, 0, errors.New(`a backslash at the end of a name`)
		}
	}
	char, n := decode(text[skip:])
	return char, skip + n, nil
}

// decode reads one character. A byte that is no UTF-8 is a character of its
// own, outside of Unicode, so that it equals itself alone.
func decode(text string) (rune, int) {
	char, n := utf8.DecodeRuneInString(text)
	if char == utf8.RuneError && n <= 1 {
		return utf8.MaxRune + 1 + rune(text[0]), 1
	}
	return char, n
}

func parseSet(text string) (step, int, error) {
	s := step{kind: oneOf}
	at := 1
	if at < len(text) && (text[at] == '!' || text[at] == '^') {
		s.not = true
		at++
	}
	for first := true; ; first = false {
		if at >= len(text) {
			return s, 0, errors.New(`"[" without "]"; write \[ for the character itself`)
		}
		if text[at] == ']' && !first {
			return s, at + 1, nil
		}
		if text[at] == '[' && at+1 < len(text) && strings.IndexByte(":.=", text[at+1]) >= 0 {
			return s, 0, errors.New(`character classes are not supported; write a range such as [0-9]`)
		}
		low, n, err := escaped(text[at:])
		if err != nil {
			return s, 0, err
		}
		at += n
		high := low
		if at+1 < len(text) && text[at] == '-' && text[at+1] != ']' {
			if high, n, err = escaped(text[at+1:]); err != nil {
				return s, 0, err
			}
			at += 1 + n
		}
		if high < low {
			return s, 0, errors.New("a range that ends before it begins")
		}
		s.ranges = append(s.ranges, low, high)
	}
}
