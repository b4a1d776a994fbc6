package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"job-cleanup/pkg/expand"
	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/unitfile"
)

// step is one section on its way to specs.
type step struct {
	section  unitfile.Section
	word     string              // the kind as the section names it, lower case
	kind     *residue.Kind       // nil: unknown
	entries  []unitfile.Entry    // what is left after empty assignments
	name     string              // see names
	use      expand.Use          // what all specs of the step took from the environment
	options  map[string][]string // by key, expanded
	when     []string
	timeout  time.Duration
	problems []Problem
}

// newStep begins with a section.
func newStep(s unitfile.Section, kind *residue.Kind, word string) *step {
	return &step{section: s, word: word, kind: kind, entries: effective(s.Entries)}
}

// source is where the section stands.
func (s *step) source() string { return source(s.section.File, s.section.Line) }

// refuse notes why the step is not taken.
func (s *step) refuse(p Problem) { s.problems = append(s.problems, p) }

// here is a problem of the section as a whole.
func (s *step) here(hint, format string, args ...any) Problem {
	return Problem{File: s.section.File, Line: s.section.Line, Reason: residue.Other, Text: fmt.Sprintf(format, args...), Hint: hint}
}

// step compiles one step into specs, a skip or problems.
func (c *compiler) step(s *step) {
	var specs []residue.Spec
	switch {
	case s.kind == nil:
		s.refuse(s.here(c.kindHint(s.word), "unknown kind %q", s.word))
	case c.disabled(s):
		c.plan.Skips = append(c.plan.Skips, Skip{Step: s.name, Kind: s.word, Source: s.source(), Reason: residue.Disabled, Text: "Enabled=no"})
		return
	default:
		c.keys(s)
		c.common(s)
		c.options(s)
		specs = c.selectors(s)
	}
	if len(s.problems) == 0 {
		c.plan.Specs = append(c.plan.Specs, specs...)
	}
	slices.SortStableFunc(s.problems, func(a, b Problem) int { return a.Line - b.Line })
	for _, p := range s.problems {
		p.Step = s.name
		if s.kind != nil {
			p.Kind = s.kind.Name
		}
		c.report(p)
	}
}

// kindHint is the hint for an unknown kind.
func (c *compiler) kindHint(word string) string {
	var titles []string
	for _, name := range kindNames(c.ctx.Registry) {
		titles = append(titles, "["+title(name)+"]")
	}
	if n := nearest(word, kindNames(c.ctx.Registry)); n != "" {
		return fmt.Sprintf("did you mean [%s]?", title(n))
	}
	return "known are " + strings.Join(titles, ", ")
}

// disabled reads Enabled=.
func (c *compiler) disabled(s *step) bool {
	e, ok := last(s.entries, "Enabled")
	if !ok {
		return false
	}
	text, _, err := c.value(residue.Bool, e.Value)
	if err != nil {
		s.refuse(c.problem(e, err))
	}
	return err == nil && text == "no"
}

// keys refuses lines that can't be read and keys that are unknown.
func (c *compiler) keys(s *step) {
	for _, b := range s.section.Bad {
		s.refuse(badLine(b))
	}
	for _, e := range s.section.Entries {
		_, selects := s.kind.Selector(e.Key)
		_, tunes := optionOf(s.kind.Options, e.Key)
		if !selects && !tunes && !isCommon(e.Key) {
			s.refuse(unknownKey(e, knownKeys(s.kind)))
		}
	}
}

// common reads When= and TimeoutSec=.
func (c *compiler) common(s *step) {
	if e, ok := last(s.entries, "TimeoutSec"); ok {
		text, use, err := c.value(residue.Span, e.Value)
		if err == nil {
			s.timeout, err = limit(text)
		}
		if err != nil {
			s.refuse(c.problem(e, err))
		}
		if s.timeout == expand.Infinity {
			s.timeout = 0
		}
		s.use.Env = s.use.Env || use.Env
	}
	for _, e := range s.entries {
		if e.Key != "When" {
			continue
		}
		words, use, err := c.when(e.Value)
		if err != nil {
			s.refuse(c.problem(e, err))
		}
		s.when = append(s.when, words...)
		s.use.Env = s.use.Env || use.Env
	}
	s.when = simplify(s.when)
}

// selectors makes the specs.
func (c *compiler) selectors(s *step) []residue.Spec {
	var specs []residue.Spec
	found := map[string]int{} // id → index
	selected := false
	for _, e := range s.entries {
		sel, ok := s.kind.Selector(e.Key)
		if !ok || isCommon(e.Key) {
			continue
		}
		selected = true
		text, use, err := c.settled(sel.Value, e.Value)
		if err == nil && text == "/" && (sel.Value == residue.Path || sel.Value == residue.Glob) {
			err = &fault{text: "the root folder is never residue", hint: "name a path below it", reason: residue.Protected}
		}
		if err != nil {
			s.refuse(c.problem(e, err))
			continue
		}
		if sel.Value == residue.Bool && text == "no" {
			continue
		}
		sel, _ = s.kind.SelectorOf(residue.Spec{Selector: e.Key, Value: text})
		spec := s.spec(sel, text, e)
		spec.FromEnv = use.Env || s.use.Env
		spec.Identify()
		if i, twice := found[spec.ID]; twice {
			specs[i].FromEnv = specs[i].FromEnv && spec.FromEnv // the plan says it by itself too
			continue
		}
		found[spec.ID] = len(specs)
		specs = append(specs, spec)
	}
	if !selected && len(s.problems) == 0 { // else the misspelled key is told already
		s.refuse(s.here("write "+strings.Join(selectorKeys(s.kind), "= or ")+"=", "step %q selects nothing", s.name))
	}
	return specs
}

// spec makes one without its id.
func (s *step) spec(sel residue.Selector, text string, e unitfile.Entry) residue.Spec {
	return residue.Spec{
		Name: s.name, Kind: s.kind.Name, Selector: sel.Key, Value: text,
		Options: maps.Clone(s.options), When: s.when, Timeout: s.timeout,
		Phase: sel.Phase, Rank: sel.Rank, Source: source(e.File, e.Line),
	}
}
