//go:build linux

package rig

import (
	"encoding/json"
	"strings"
)

// Start starts a unit and waits for it. Many tests want a job that fails, so
// the result is returned, not judged.
func (m *Machine) Start(unit string) Result {
	m.t.Helper()
	return m.Run("systemctl", "start", unit)
}

// Show returns properties of a unit by name, as `systemctl show` prints them.
func (m *Machine) Show(unit string, properties ...string) map[string]string {
	m.t.Helper()
	result := m.Run("systemctl", "show", "-p", strings.Join(properties, ","), "--", unit)
	if result.Code != 0 {
		m.t.Fatalf("%s: show %q: %v", m.Suite, unit, result)
	}
	values := map[string]string{}
	for line := range strings.Lines(result.Stdout) {
		if key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "="); ok {
			values[key] = value
		}
	}
	return values
}

// Entry is one journal record, by field name. Of a field that stands several
// times the values are joined with newlines.
type Entry map[string]string

// Journal returns the records that match, oldest first, everything logged
// before the call included. Matches are those of journalctl: FIELD=value, and
// options.
func (m *Machine) Journal(matches ...string) []Entry {
	m.t.Helper()
	m.Shell("journalctl --sync")
	result := m.Run(append([]string{"journalctl", "-q", "-o", "json", "--all", "--no-pager"}, matches...)...)
	if result.Code != 0 {
		m.t.Fatalf("%s: journalctl %q: %v", m.Suite, matches, result)
	}
	var entries []Entry
	for line := range strings.Lines(result.Stdout) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			m.t.Fatalf("%s: journal record %q: %v", m.Suite, line, err)
		}
		entry := Entry{}
		for name, value := range fields {
			entry[name] = fieldText(value)
		}
		entries = append(entries, entry)
	}
	return entries
}

// fieldText undoes journalctl's JSON: text is a string, bytes are an array of
// numbers, a repeated field is an array of either.
func fieldText(value any) string {
	list, isList := value.([]any)
	if !isList {
		text, _ := value.(string)
		return text
	}
	if len(list) > 0 {
		if _, isByte := list[0].(float64); isByte {
			var text []byte
			for _, b := range list {
				number, _ := b.(float64)
				text = append(text, byte(number))
			}
			return string(text)
		}
	}
	var texts []string
	for _, one := range list {
		texts = append(texts, fieldText(one))
	}
	return strings.Join(texts, "\n")
}
