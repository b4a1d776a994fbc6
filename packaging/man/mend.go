package main

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// mend makes code copyable, sets examples off, narrows tables, and writes in
// ASCII alone, so that nobody has to guess the encoding.
func mend(roff string) string {
	var b strings.Builder
	end := 0
	for _, at := range example.FindAllStringSubmatchIndex(roff, -1) {
		b.WriteString(strings.Trim(running(roff[end:at[0]]), "\n"))
		b.WriteString("\n.PP\n.RS 4\n.EX\n" + copyable.Replace(roff[at[2]:at[3]]) + ".EE\n.RE\n")
		end = at[1]
	}
	b.WriteString(strings.TrimLeft(running(roff[end:]), "\n"))
	return ascii(strings.Replace(b.String(), "\n.SH NAME", "\n.nr HY 0\n.nh\n.ad l\n.SH NAME", 1))
}

// copyable are the characters that troff sets as typographic ones unless told
// otherwise. Who copies an option or a command line needs those of ASCII.
var copyable = strings.NewReplacer("-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`)

var (
	example = regexp.MustCompile(`(?s)\n\.EX\n(.*?)\.EE\n`)
	bold    = regexp.MustCompile(`\\fB([^\n]*?)\\f[RP]`)
	blank   = regexp.MustCompile(`\n{2,}`)
)

// longSpan is what may not fit on a line behind other text.
const longSpan = 60

// running mends what is no example.
func running(roff string) string {
	roff = bold.ReplaceAllStringFunc(roff, func(found string) string {
		text := copyable.Replace(found[3 : len(found)-3])
		if len(found) > longSpan {
			text = strings.ReplaceAll(text, "/", `/\:`) // may break there
		}
		return `\fB` + text + `\fR`
	})
	return narrow(blank.ReplaceAllString(roff, "\n"))
}

var (
	item   = regexp.MustCompile(`\.TP\n([^\n]+)\n([^.\n][^\n]*)\n`)
	escape = regexp.MustCompile(`\\f[BRPI]|\\\((..)|\\`)
)

// What fits beside a term, so that a list of such is a table.
const (
	widestTerm = 30
	widestText = 71 // with its term, below the margin of 7
)

// narrow sets each list whose items all fit on a line as a table: the texts
// below each other, without blank lines.
func narrow(roff string) string {
	var b strings.Builder
	items := item.FindAllStringSubmatchIndex(roff, -1)
	end := 0
	for len(items) > 0 {
		n, width := together(roff, items)
		b.WriteString(roff[end:items[0][0]])
		for i, at := range items[:n] {
			tag := ".TP\n"
			if width > 0 {
				tag = fmt.Sprintf(".TP %d\n", width)
			}
			b.WriteString(tag + roff[at[2]:at[1]])
			if width > 0 && i == 0 {
				b.WriteString(".PD 0\n")
			}
		}
		if width > 0 {
			b.WriteString(".PD\n")
		}
		end, items = items[n-1][1], items[n:]
	}
	return b.String() + roff[end:]
}

// together counts the items that follow each other without a gap, and tells how
// wide their terms are; 0 when they don't make a table.
func together(roff string, items [][]int) (n, width int) {
	longest := 0
	for n = 0; n < len(items) && (n == 0 || items[n][0] == items[n-1][1]); n++ {
		term, text := shown(roff[items[n][2]:items[n][3]]), shown(roff[items[n][4]:items[n][5]])
		width = max(width, term+2)
		longest = max(longest, text)
	}
	last := items[n-1][1]
	goesOn := strings.HasPrefix(roff[last:], ".br") || strings.HasPrefix(roff[last:], ".TP") ||
		last < len(roff) && roff[last] != '.'
	if n < 3 || goesOn || width > widestTerm || width+longest > widestText {
		return n, 0
	}
	return n, width
}

// shown is how many columns a text takes.
func shown(roff string) int {
	return utf8.RuneCountInString(escape.ReplaceAllString(roff, "$1")) // \(xx counts as two, which is enough
}

func ascii(roff string) string {
	var b strings.Builder
	for _, r := range roff {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\[u%04X]`, r)
		}
	}
	return b.String()
}
