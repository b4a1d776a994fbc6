package plan

import (
	"fmt"
	"strings"
	"unicode"

	"job-cleanup/pkg/residue"
)

// names gives every step its name: Name=, else its kind, with its number
// among the steps of that kind when it is not the first. Compared without
// case, as --skip and --only do.
func (c *compiler) names(steps []*step) {
	taken := map[string]*step{}
	for _, s := range steps {
		e, ok := last(s.entries, "Name")
		if !ok || s.kind == nil {
			continue
		}
		text, use, err := c.value(residue.String, e.Value)
		if err == nil && strings.IndexFunc(text, unicode.IsControl) >= 0 {
			err = faultf("", "a name holds a control character")
		}
		if other := taken[strings.ToLower(text)]; err == nil && other != nil {
			err = faultf("every step needs a name of its own", "the step at %s has that name too", other.source())
		}
		if err != nil {
			s.refuse(c.problem(e, err))
			continue
		}
		s.name, s.use.Env = text, s.use.Env || use.Env
		taken[strings.ToLower(text)] = s
	}
	number := map[string]int{}
	for _, s := range steps {
		number[s.word]++
		for n := number[s.word]; s.name == ""; n++ {
			name := s.word
			if n > 1 {
				name = fmt.Sprintf("%s-%d", s.word, n)
			}
			if taken[name] == nil {
				s.name, taken[name] = name, s
			}
		}
	}
}
