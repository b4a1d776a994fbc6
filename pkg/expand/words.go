package expand

import (
	"fmt"
	"strings"

	"job-cleanup/pkg/outcome"
)

// Record prepares a command line for the ledger and checks all of it: quotes,
// escapes, specifiers, variables.
//
// Specifiers are replaced by their values, since whoever replays the ledger
// does not know the unit any more. A value is written so that Words reads it
// back as exactly the same text, wherever it stands: blanks as \s, quotes and
// backslashes behind a backslash, braces and control bytes as \xHH, percent
// and dollar signs doubled. Everything else stays as it was written; variables
// stay unexpanded, so that no value of the environment gets into a record.
func Record(line string, specs Specifiers, env outcome.Lookup) (string, Use, error) {
	recorded, err := fix(line, specs)
	if err != nil {
		return "", Use{}, err
	}
	words, use, err := words(recorded, env)
	if err != nil {
		return "", use, err
	}
	if len(words) == 0 {
		return "", use, faultf("", "command line is empty")
	}
	return recorded, use, nil
}

// Words splits a recorded command line and expands the variables in its words.
// Splitting comes first, so a value never becomes two words, and is never read
// again. Without an environment (nil) every ${…} is an error.
func Words(recorded string, env outcome.Lookup) ([]string, error) {
	w, _, err := words(recorded, env)
	return w, err
}

// words is Words, and tells what was used.
func words(recorded string, env outcome.Lookup) ([]string, Use, error) {
	var use Use
	cutUp, err := cut(recorded, false)
	if err != nil {
		return nil, use, err
	}
	for i, w := range cutUp {
		s := scanner{in: w, env: env, command: true}
		if err := s.run(); err != nil {
			return nil, use, err
		}
		use.Env = use.Env || s.out.Env
		use.Defaulted = use.Defaulted || s.out.Defaulted
		cutUp[i] = s.out.Text()
	}
	return cutUp, use, nil
}

// fix replaces the specifiers of a command line.
func fix(line string, specs Specifiers) (string, error) {
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		c, next := line[i], byte(0)
		if i+1 < len(line) {
			next = line[i+1]
		}
		switch {
		case next == 0:
			b.WriteByte(c)
		case c == '\\', c == '%' && next == '%', c == '$' && next == '$':
			b.WriteByte(c)
			b.WriteByte(next)
			i++
		case c == '%':
			v, err := specs.Expand(next)
			if err != nil {
				return "", err
			}
			b.WriteString(quoted(v))
			i++
		case c == '$' && strings.IndexByte(`%"'\`, next) >= 0:
			b.WriteString("$$") // it must not meet what a specifier or a quote leaves behind it
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}

// quoted writes a value so that a word holds it literally, in quotes or not.
func quoted(value string) string {
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '%' || c == '$':
			b.WriteByte(c)
			b.WriteByte(c)
		case c == '\\' || c == '"' || c == '\'':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == ' ':
			b.WriteString(`\s`)
		case c < ' ' || c == '{' || c == '}' || c == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
