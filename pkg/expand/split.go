package expand

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Split cuts a text into words as the Exec lines of systemd.service(5) are
// cut: at blanks, quotes of both sorts hold a word together and go, and a
// backslash begins an escape. Variables and specifiers stay in the words; a
// percent or dollar sign that was escaped comes out doubled. A backslash that
// begins no known escape stays, so that a pattern keeps its own.
func Split(text string) ([]string, error) {
	words, err := cut(text, true)
	for i, w := range words {
		words[i] = unmask(w)
	}
	return words, err
}

// unmask writes masked bytes so that they still stand for themselves in a
// text that is expanded later.
func unmask(word string) string {
	var b strings.Builder
	for i := 0; i < len(word); i++ {
		if word[i] == mask {
			i++
			if word[i] == '%' || word[i] == '$' {
				b.WriteByte(word[i])
			}
		}
		b.WriteByte(word[i])
	}
	return b.String()
}

// cut splits a command line. What an escape stands for comes out masked.
func cut(text string, relaxed bool) ([]string, error) {
	if strings.IndexByte(text, mask) >= 0 {
		return nil, faultf("", "text holds a NUL")
	}
	var (
		words []string
		word  strings.Builder
		open  bool // within a word
		quote byte // the quote we are in, or 0
	)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\':
			n, err := unslash(&word, text[i:], relaxed)
			if err != nil {
				return nil, err
			}
			i += n - 1
			open = true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, open = c, true
		case quote == 0 && strings.IndexByte(" \t\r\n", c) >= 0:
			if open {
				words = append(words, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteByte(c)
			open = true
		}
	}
	if quote != 0 {
		return nil, faultf("close it, or write \\"+string(rune(quote)), "quote %c is not closed", quote)
	}
	if open {
		words = append(words, word.String())
	}
	return words, nil
}

// escapes are those of one letter.
var escapes = map[byte]byte{
	'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v',
	'\\': '\\', '"': '"', '\'': '\'', 's': ' ',
}

// unslash writes what the escape at the start of text stands for, and returns
// its length.
func unslash(word *strings.Builder, text string, relaxed bool) (int, error) {
	if len(text) > 1 {
		if c, ok := escapes[text[1]]; ok {
			maskInto(word, string(rune(c)))
			return 2, nil
		}
		if n, value := numeric(text); n > 0 {
			maskInto(word, value)
			return n, nil
		}
	}
	if relaxed {
		word.WriteByte('\\')
		return 1, nil
	}
	bad, _ := utf8.DecodeRuneInString(text[1:])
	if len(text) == 1 {
		return 0, faultf(`write \\ for a backslash`, "a backslash stands at the end")
	}
	return 0, faultf(`write \\ for a backslash`, "unknown escape %q", `\`+string(bad))
}

// numeric reads \xHH, \NNN, \uHHHH and \UHHHHHHHH. Length 0 means that it is
// none of them; NUL is none.
func numeric(text string) (n int, value string) {
	digits, base, skip := 3, 8, 1
	switch text[1] {
	case 'x':
		digits, base, skip = 2, 16, 2
	case 'u':
		digits, base, skip = 4, 16, 2
	case 'U':
		digits, base, skip = 8, 16, 2
	}
	if len(text) < skip+digits {
		return 0, ""
	}
	v, err := strconv.ParseUint(text[skip:skip+digits], base, 32)
	if err != nil || v == 0 {
		return 0, ""
	}
	if digits > 3 {
		if v > utf8.MaxRune || !utf8.ValidRune(rune(v)) {
			return 0, ""
		}
		return skip + digits, string(rune(v))
	}
	if v > 0xff {
		return 0, ""
	}
	return skip + digits, string([]byte{byte(v)})
}

// maskInto writes text so that no byte of it is expanded.
func maskInto(b *strings.Builder, text string) {
	for i := 0; i < len(text); i++ {
		b.WriteByte(mask)
		b.WriteByte(text[i])
	}
}
