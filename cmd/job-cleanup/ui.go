package main

// All text for people is made here. The house rules:
//
//   - Results go to stdout, all else to stderr.
//   - An error is one line, "job-cleanup: …", lower case, no full stop; what
//     the user wrote is quoted; a second line "hint: …" says what to do next,
//     a command to run or a text to write.
//   - Nothing is wider than 80 columns unless a name is.
//   - No colour but on a terminal, none that carries meaning by itself.

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/journal"
)

const width = 80

// failed prints an error, with what to do about it, and returns the exit code
// that it means.
func (p *program) failed(v *verb, err error) int {
	code := exitOwed
	if usage := (usageError{}); errors.As(err, &usage) {
		code = exitUsage
	}
	if !errors.Is(err, unix.EPIPE) { // whoever read our results wants no more of them
		p.trouble("", err)
	}
	if v != nil && v.forgive {
		return exitDone
	}
	return code
}

// warn prints something that went wrong without ending the work, and what to
// do next.
func (p *program) warn(next, format string, args ...any) {
	fmt.Fprintf(p.stderr, "job-cleanup: %s\n", journal.Escape(fmt.Sprintf(format, args...)))
	p.hint("%s", next)
}

// trouble is a warning that an error says all about; of is what it is about,
// if the error does not say it.
func (p *program) trouble(of string, err error) {
	if of = strings.Trim(of, "/"); of != "" {
		err = fmt.Errorf("%s: %w", of, err)
	}
	p.warn(p.nextStep(err), "%v", err)
}

// hint says what to do next.
func (p *program) hint(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); text != "" {
		fmt.Fprintf(p.stderr, "hint: %s\n", journal.Escape(text))
	}
}

// hang wraps text behind a first prefix, later lines indented as far.
func hang(prefix, text string) string {
	var b strings.Builder
	for paragraph := range strings.SplitSeq(text, "\n") {
		line := prefix
		for _, word := range strings.Fields(paragraph) {
			if len(line)+len(word) > width && strings.TrimSpace(line) != "" {
				b.WriteString(strings.TrimRight(line, " ") + "\n")
				line = strings.Repeat(" ", len(prefix))
			}
			line += word + " "
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
		prefix = strings.Repeat(" ", len(prefix))
	}
	return b.String()
}
