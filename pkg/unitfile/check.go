package unitfile

import (
	"slices"
	"strings"
	"time"

	"job-cleanup/pkg/residue"
)

// Severity says how bad a Finding is.
type Severity string

// The severities. An error means that the cleanup does not run, can't do what
// the plan says, or harms the job; a warning, that it will one night.
const (
	Err  Severity = "error"
	Warn Severity = "warning"
)

// Finding is what a check found, at its place.
type Finding struct {
	Check    string   `json:"check"` // the check's name
	Severity Severity `json:"severity"`
	File     string   `json:"file"`
	Line     int      `json:"line,omitempty"` // from 1; 0: the file as a whole
	Text     string   `json:"text"`           // what is wrong: short, lower case
	Fix      string   `json:"fix,omitempty"`  // what to write instead
}

// Facts is what the checks look at.
type Facts struct {
	Unit    *Unit
	Specs   []residue.Spec // of the unit's compiled plan
	Timeout time.Duration  // TimeoutSec= of [X-Cleanup]; 0: not set
	Strict  bool           // ExitPolicy=strict
}

// check is one row of the table: what it is called, where it finds fault, and
// what is said of it. In text and fix "{}" stands for the place's own word.
type check struct {
	id       string
	severity Severity
	find     func(*Facts) []place
	text     string
	fix      string
}

// place is where something is wrong.
type place struct {
	Entry
	word string
}

// Check checks the wiring and surroundings of a unit's cleanup. The plan
// itself is checked where it is compiled. A unit that neither has cleanup
// sections nor calls job-cleanup has nothing to be found.
func Check(f Facts) []Finding {
	if len(f.steps()) == 0 && len(Hooks(f.Unit)) == 0 {
		return nil
	}
	var out []Finding
	for _, c := range allChecks() {
		for _, p := range c.find(&f) {
			out = append(out, Finding{
				Check: c.id, Severity: c.severity, File: p.File, Line: p.Line,
				Text: strings.ReplaceAll(c.text, "{}", p.word),
				Fix:  strings.ReplaceAll(c.fix, "{}", p.word),
			})
		}
	}
	return out
}

// steps are the unit's cleanup sections.
func (f *Facts) steps() []Section {
	return slices.DeleteFunc(f.Unit.Cleanup(), func(s Section) bool {
		return !strings.HasPrefix(strings.ToLower(s.Name), "x-cleanup")
	})
}

// hooks are the lines that call a verb before or after the job.
func (f *Facts) hooks(verb string) []Hook {
	key := map[string]string{"arm": "ExecStartPre", "run": "ExecStopPost"}[verb]
	return slices.DeleteFunc(Hooks(f.Unit), func(h Hook) bool { return h.Verb != verb || h.Key != key })
}

// privileged reports whether the cleanup runs with root's rights outside the
// unit's file system sandbox.
func (f *Facts) privileged() bool {
	return slices.ContainsFunc(f.hooks("run"), func(h Hook) bool { return strings.Contains(h.Prefix, "+") })
}

// setting returns the assignment that counts of keys that mean the same.
func (f *Facts) setting(section string, keys ...string) (Entry, bool) {
	entries := f.Unit.entries(section, keys...)
	if len(entries) == 0 {
		return Entry{}, false
	}
	return entries[len(entries)-1], true
}

// switched returns the assignment of a switch that is on.
func (f *Facts) switched(key string) (Entry, bool) {
	e, _ := f.setting("Service", key)
	on, _ := Boolean(e.Value)
	return e, on
}

// whole is the place of what is missing: the plan's first line, else the
// fragment.
func (f *Facts) whole() place {
	if steps := f.steps(); len(steps) > 0 {
		return place{Entry: Entry{File: steps[0].File, Line: steps[0].Line}}
	}
	return place{Entry: Entry{File: f.Unit.Fragment}}
}

// when makes a place of an assignment if something holds.
func when(holds bool, e Entry, word string) []place {
	if !holds {
		return nil
	}
	return []place{{e, word}}
}

// Checks lists the names of all checks.
func Checks() []string {
	var ids []string
	for _, c := range allChecks() {
		ids = append(ids, c.id)
	}
	return ids
}

func allChecks() []check {
	return slices.Concat(wiringChecks, settingChecks, sandboxChecks, planChecks)
}
