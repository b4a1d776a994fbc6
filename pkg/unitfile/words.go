package unitfile

import "strings"

// words splits a value at blanks, and each word at colons; see split for
// quotes. It reports false where a quote is left open.
func words(value string) ([][]string, bool) { return split(value, ':') }

// commandWords splits a value at blanks alone.
func commandWords(value string) ([]string, bool) {
	split, ok := split(value, 0)
	var out []string
	for _, w := range split {
		out = append(out, w[0])
	}
	return out, ok
}

// split cuts a value into words and these at a separator, by the rules of
// systemd.syntax(7): quotes of either sort keep blanks and separators
// together, a backslash keeps the character behind it.
func split(value string, separator byte) ([][]string, bool) {
	var s splitter
	for i := 0; i < len(value); i++ {
		c := value[i]
		switch {
		case c == '\\' && i+1 < len(value):
			i++
			s.take(value[i])
		case s.quote != 0 && c == s.quote:
			s.quote = 0
		case s.quote != 0:
			s.take(c)
		case c == '"' || c == '\'':
			s.quote, s.open = c, true
		case strings.IndexByte(blank, c) >= 0:
			s.endWord()
		case separator != 0 && c == separator:
			s.open = true
			s.endField()
		default:
			s.take(c)
		}
	}
	s.endWord()
	return s.words, s.quote == 0
}

// splitter is the state of split.
type splitter struct {
	quote  byte // the one that is open, or 0
	open   bool // a word has begun
	field  strings.Builder
	fields []string
	words  [][]string
}

func (s *splitter) take(c byte) {
	s.open = true
	s.field.WriteByte(c)
}

func (s *splitter) endField() {
	s.fields = append(s.fields, s.field.String())
	s.field.Reset()
}

func (s *splitter) endWord() {
	if !s.open {
		return
	}
	s.endField()
	s.words = append(s.words, s.fields)
	s.fields, s.open = nil, false
}
