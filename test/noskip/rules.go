package main

import (
	"fmt"
	"path"
	"strings"
)

// rule names tests that must run.
type rule struct {
	pkg     string // the end of a package's import path, whole components
	pattern string // for the name of a top-level test
	line    int
}

// parseRules reads one rule a line; # begins a comment.
func parseRules(text string) ([]rule, error) {
	var rules []rule
	for number, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if len(fields) != 2 {
			return nil, fmt.Errorf("line %d: want PACKAGE PATTERN, got %q", number+1, line)
		}
		if _, err := path.Match(fields[1], ""); err != nil {
			return nil, fmt.Errorf("line %d: pattern %q: %w", number+1, fields[1], err)
		}
		rules = append(rules, rule{fields[0], fields[1], number + 1})
	}
	return rules, nil
}

func (r rule) matches(one test) bool {
	name, _, _ := strings.Cut(one.name, "/")
	ok, _ := path.Match(r.pattern, name) // the pattern was checked
	return ok && one.name != "" && strings.HasSuffix("/"+one.pkg, "/"+r.pkg)
}

// broken says which rules do not hold, one line each.
func (r *report) broken(rules []rule) []string {
	var problems []string
	for _, rule := range rules {
		ran := false
		for _, one := range r.order {
			if !rule.matches(one) {
				continue
			}
			ran = true
			if r.ends[one] == "skip" {
				problems = append(problems, fmt.Sprintf("required, but skipped: %s %s", one.pkg, one.name))
			}
		}
		if !ran {
			problems = append(problems, fmt.Sprintf("required, but not there: %s %s (line %d)", rule.pkg, rule.pattern, rule.line))
		}
	}
	return problems
}
