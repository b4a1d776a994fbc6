package plan

import (
	"fmt"
	"strings"

	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/unitfile"
)

// sectionName is the section of the settings, and the front of every step's.
const sectionName = "X-Cleanup"

// what a section is.
type what int

const (
	foreignSection  what = iota // somebody else's
	settingsSection             // [X-Cleanup]
	stepSection                 // [X-Cleanup.KIND]
	strangeSection              // meant to be ours, but not written so
)

// classify tells what a section is, and the kind it names. Names that come
// close to ours are told apart from foreign ones, because a step that is
// passed over in silence is residue that stays.
func classify(name string, reg *residue.Registry) (w what, kind string) {
	lower := strings.ToLower(name)
	head, kind, dotted := strings.Cut(lower, ".")
	ours := strings.ToLower(sectionName)
	far := distance(head, ours, 2)
	switch {
	case lower == ours:
		return settingsSection, ""
	case head == ours && kind != "":
		return stepSection, kind
	case strings.HasPrefix(lower, ours):
		return strangeSection, strings.Trim(lower[len(ours):], "-_.: ")
	case dotted && far <= 2 && reg.Kind(kind) != nil, !dotted && far <= 1:
		return strangeSection, kind
	}
	return foreignSection, ""
}

// title is how a kind's section is written: "X-Cleanup.Path".
func title(kind string) string {
	if kind == "" {
		return sectionName
	}
	return sectionName + "." + strings.ToUpper(kind[:1]) + kind[1:]
}

// strange notes a section that looks like ours.
func (c *compiler) strange(s unitfile.Section, kind string) {
	known := kind
	if kind != "" && c.ctx.Registry.Kind(kind) == nil {
		known = nearest(kind, kindNames(c.ctx.Registry))
	}
	c.report(Problem{
		File: s.File, Line: s.Line, Step: s.Name, Reason: residue.Other,
		Text: fmt.Sprintf("unknown section [%s]", s.Name),
		Hint: fmt.Sprintf("did you mean [%s]?", title(known)),
	})
}

// kindNames lists the kinds.
func kindNames(reg *residue.Registry) []string {
	var names []string
	for _, k := range reg.Kinds() {
		names = append(names, k.Name)
	}
	return names
}
