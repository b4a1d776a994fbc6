package unitfile

import "strings"

// Cleanup returns the unit's cleanup sections; see the function Cleanup.
func (u *Unit) Cleanup() []Section { return Cleanup(u.Sections) }

// Cleanup returns the sections X-Cleanup and X-Cleanup.KIND, whatever the
// case of their letters, in order. Where [X-Cleanup] says Reset=yes, all
// sections above it are dropped, those of earlier files too; the assignment
// itself is not passed on. A name that only resembles ours comes too: who
// compiles the sections can say that it was mistyped.
func Cleanup(sections []Section) []Section {
	var out []Section
	for _, s := range sections {
		name := strings.ToLower(s.Name)
		if !strings.HasPrefix(name, "x-") && !strings.Contains(name, "clean") {
			continue
		}
		if name == "x-cleanup" {
			var reset bool
			if s.Entries, reset = takeReset(s.Entries); reset {
				out = nil
			}
		}
		out = append(out, s)
	}
	return out
}

// takeReset reads Reset= and leaves it out, unless nobody can read it: then
// it stays, to be complained about.
func takeReset(entries []Entry) (rest []Entry, reset bool) {
	for _, e := range entries {
		value, ok := Boolean(e.Value)
		if !strings.EqualFold(e.Key, "Reset") || !ok && e.Value != "" {
			rest = append(rest, e)
			continue
		}
		reset = value
	}
	return rest, reset
}

// Boolean reads the manager's words for yes and no.
func Boolean(text string) (value, ok bool) {
	switch strings.ToLower(text) {
	case "1", "yes", "y", "true", "t", "on":
		return true, true
	case "0", "no", "n", "false", "f", "off":
		return false, true
	}
	return false, false
}
