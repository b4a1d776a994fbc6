package aws

import (
	"bytes"
	"strings"
)

// section is one section of a credentials file, as a range of its bytes.
type section struct {
	from, to int // from its header up to what belongs to the next one
	keys     map[string]string
}

// sections finds the sections of one name. A name may stand twice.
func sections(text []byte, name string) []section {
	var all []section
	var open *section
	comments := 0 // bytes of comment lines directly before where we are
	at := 0
	for line := range bytes.Lines(text) {
		trimmed := strings.TrimSpace(string(line))
		switch {
		case strings.HasPrefix(trimmed, "["):
			if open != nil {
				open.to = at - comments // comments right above a header are about what follows
				all = append(all, *open)
				open = nil
			}
			if header(trimmed, name) {
				open = &section{from: at, keys: map[string]string{}}
			}
			comments = 0
		case strings.HasPrefix(trimmed, "#"), strings.HasPrefix(trimmed, ";"):
			comments += len(line)
		default:
			comments = 0
			if key, value, ok := strings.Cut(trimmed, "="); ok && open != nil {
				open.keys[strings.ToLower(strings.TrimSpace(key))] = strings.TrimSpace(value)
			}
		}
		at += len(line)
	}
	if open != nil {
		open.to = at
		all = append(all, *open)
	}
	return all
}

// header reports whether a line begins the section of a profile, also as a
// configuration file writes it.
func header(line, name string) bool {
	inner, _, ok := strings.Cut(line[1:], "]")
	inner = strings.TrimSpace(inner)
	if rest, found := strings.CutPrefix(inner, "profile "); found && inner != name {
		inner = strings.Trim(strings.TrimSpace(rest), `"'`)
	}
	return ok && inner == name
}

// without returns the text without one section. The text is not changed.
func without(text []byte, s section) []byte {
	return append(append([]byte(nil), text[:s.from]...), text[s.to:]...)
}
