package main

import (
	"bufio"
	"fmt"
	"html"
)

// markup writes HTML. A template would too, but calls methods by name, which
// makes the linker keep all of every client library: twice the program.
type markup struct{ out *bufio.Writer }

// put writes a format, which is a constant and holds the tags. Every argument
// is escaped, so that it is only text, between tags and in a quoted attribute;
// it must not stand anywhere else.
func (m markup) put(format string, args ...any) {
	for i, arg := range args {
		args[i] = html.EscapeString(fmt.Sprint(arg))
	}
	fmt.Fprintf(m.out, format, args...) // its error stays in the writer
}

// some writes a format with a text, and nothing where there is none.
func (m markup) some(text, format string) {
	if text != "" {
		m.put(format, text)
	}
}
