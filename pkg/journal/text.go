package journal

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Escape makes text safe to show on one line of a terminal or a log: control
// characters, line separators, direction marks and bytes that are no UTF-8
// become \xNN or \uNNNN. Tabs and all printable text stay.
func Escape(text string) string {
	if plain(text) {
		return text
	}
	var out strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1, r < utf8.RuneSelf && !shown(r):
			fmt.Fprintf(&out, `\x%02x`, text[i])
		case shown(r):
			out.WriteString(text[i : i+size])
		case r > 0xffff:
			fmt.Fprintf(&out, `\U%08x`, r)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
		i += size
	}
	return out.String()
}

func shown(r rune) bool { return r == '\t' || strconv.IsPrint(r) }

// plain is the common case: printable ASCII.
func plain(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < ' ' && c != '\t') || c >= 0x7f {
			return false
		}
	}
	return true
}

// Text is the record as one line for people, without a line end.
func Text(r Record) string { return Escape(r.sentence()) }

// sentence is the record's message, or one made from its fields.
func (r Record) sentence() string {
	if r.Message != "" {
		return r.Message
	}
	switch {
	case r.Event == Summary:
		return r.total()
	case r.Count > 1:
		return fmt.Sprintf("%s: %d more of %s", r.Event, r.Count, or(r.Unit, "the job"))
	}
	word := string(r.Event)
	if r.Event == Removed {
		word = or(r.Done, word)
	}
	text := word + part(" ", r.Kind) + part(" ", r.thing())
	text += part(" (", r.Reason, ")")
	if r.Event == Refused {
		text += part(": ", r.Source) // where to mend it
	}
	text += part(": ", r.Detail)
	if r.Attempt > 1 {
		text += fmt.Sprintf(", attempt %d", r.Attempt)
	}
	return text
}

// thing names what a record is about.
func (r Record) thing() string {
	switch r.Event {
	case Armed, Unrecorded, LedgerDamaged:
		return or(r.Ref, r.Unit)
	case Problem:
		return or(r.Source, r.Ref)
	}
	return or(r.Ref, or(r.Step, r.Source))
}

// total is the sentence of a summary.
func (r Record) total() string {
	var parts []string
	for _, status := range statuses {
		if n := r.Counts[status]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, status))
		}
	}
	text := "cleanup of " + or(r.Unit, "the job")
	text += part(" (", r.Outcome.Result, ")") + ": "
	if len(parts) == 0 {
		text += "nothing to do"
	}
	text += strings.Join(parts, ", ")
	if r.Duration > 0 {
		text += " in " + r.Duration.Round(time.Millisecond).String()
	}
	return text + part("; ", r.Detail)
}

// part is a value with something around it, or nothing when it is empty.
func part(before, value string, after ...string) string {
	if value == "" {
		return ""
	}
	return before + value + strings.Join(after, "")
}

func or(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}
