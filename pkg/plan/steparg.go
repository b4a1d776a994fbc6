package plan

import (
	"errors"
	"fmt"
	"strings"

	"job-cleanup/pkg/expand"
	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/unitfile"
)

// stepFile is the position of what stands on the command line.
const stepFile = "--step"

// ParseStep reads a step on the command line, "Path Remove=/var/tmp/batch-%i
// Exclude=/var/tmp/batch-%i/log", as the section it stands for. Words are
// split and unquoted as on an Exec line; variables and specifiers stay for
// Compile. The error is a Problem.
func ParseStep(text string) (unitfile.Section, error) {
	words, err := expandSplit(text)
	if err != nil {
		return unitfile.Section{}, err
	}
	if len(words) == 0 || strings.Contains(words[0], "=") {
		return unitfile.Section{}, stepProblem(fmt.Sprintf("%q begins with no kind", text), "write KIND KEY=VALUE…, as 'Path Remove=/var/tmp/batch-%i'")
	}
	s := unitfile.Section{Name: sectionName + "." + words[0], File: stepFile}
	for _, w := range words[1:] {
		key, value, ok := strings.Cut(w, "=")
		if !ok || key == "" {
			return unitfile.Section{}, stepProblem(fmt.Sprintf("%q is not KEY=VALUE", w), "put quotes around a value with blanks: Key=\"a b\"")
		}
		s.Entries = append(s.Entries, unitfile.Entry{Key: key, Value: value, File: stepFile})
	}
	return s, nil
}

// expandSplit is expand.Split with a Problem for its error.
func expandSplit(text string) ([]string, error) {
	words, err := expand.Split(text)
	var x *expand.Error
	if errors.As(err, &x) {
		return nil, stepProblem(x.Text, x.Hint)
	}
	return words, err
}

// stepProblem is a problem of the option as a whole.
func stepProblem(text, hint string) Problem {
	return Problem{File: stepFile, Text: text, Hint: hint, Reason: residue.Other}
}
