package plan

import (
	"errors"
	"fmt"
	"strings"

	"job-cleanup/pkg/expand"
	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/unitfile"
)

// fault is why a value is refused, before it has a position.
type fault struct {
	text, hint string
	reason     residue.Reason // "" is Other
	deferred   bool
}

// Error returns the text.
func (f *fault) Error() string { return f.text }

// faultf makes a fault.
func faultf(hint, format string, args ...any) *fault {
	return &fault{text: fmt.Sprintf(format, args...), hint: hint}
}

// report adds a problem to the plan. A file may hold a word of a megabyte; a
// message need not.
func (c *compiler) report(p Problem) {
	p.Text, p.Hint = clip(p.Text), clip(p.Hint)
	c.plan.Problems = append(c.plan.Problems, p)
}

// clip shortens a text for people.
func clip(text string) string {
	const most = 500
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// problem gives an error a position. The key goes before the text.
func (c *compiler) problem(e unitfile.Entry, err error) Problem {
	p := Problem{File: e.File, Line: e.Line, Text: fmt.Sprintf("%s=: %v", e.Key, err), Reason: residue.Other}
	var f *fault
	var x *expand.Error
	switch {
	case errors.As(err, &f):
		p.Hint, p.Deferred = f.hint, f.deferred
		if f.reason != "" {
			p.Reason = f.reason
		}
	case errors.As(err, &x):
		p.Hint = x.Hint
		if x.Unset {
			p.Reason = residue.Unset
			p.Deferred = c.ctx.Early && x.Variable != ""
		}
	}
	return p
}

// unknownKey is the problem of a key that is not in a table.
func unknownKey(e unitfile.Entry, known []string) Problem {
	return Problem{File: e.File, Line: e.Line, Reason: residue.Other,
		Text: fmt.Sprintf("unknown key %q", e.Key), Hint: didYouMean(e.Key, known)}
}

// badLine is the problem of a line that the reader could not read.
func badLine(b unitfile.Problem) Problem {
	return Problem{File: b.File, Line: b.Line, Text: b.Text, Hint: b.Hint, Reason: residue.Other}
}
