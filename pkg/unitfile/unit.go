package unitfile

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
)

// ErrNotFound says that no file describes the unit.
var ErrNotFound = errors.New("no unit file")

// ErrMasked says that the unit's file is empty or a link to /dev/null, the
// manager's way to switch a unit off. There is nothing to read.
var ErrMasked = errors.New("unit is masked")

// Unit is a unit as its fragment and drop-ins describe it together.
type Unit struct {
	Name     string    // the real one, where it was asked for by an alias
	Fragment string    // path of its own file, or its template's
	DropIns  []string  // paths, in the order in which they count
	Sections []Section // of all files, in that order
	// Problems are lines that could not be read, and, with Line 0, whole files
	// and directories: what such a one says is not known.
	Problems []Problem
}

// Load reads a unit from where the manager looks for it. The name may be an
// alias, an instance or a template. Errors wrap ErrNotFound, ErrMasked, an
// *outcome.UnitNameError, or a Problem where it can't be told whether there
// is such a unit.
func Load(name string, s Search) (*Unit, error) {
	parsed, err := ParseName(name)
	if err != nil {
		return nil, err
	}
	return s.load(parsed, s.names())
}

// load reads a unit where the names of the directories are known.
func (s Search) load(parsed Name, known names) (*Unit, error) {
	name := parsed.String()
	fragment := known.fragment(parsed)
	if fragment == "" {
		if len(known.problems) > 0 {
			return nil, fmt.Errorf("find unit %q: %w", name, known.problems[0])
		}
		return nil, fmt.Errorf("find unit %q: %w", name, ErrNotFound)
	}
	all := known.all(parsed, fragment)
	dropIns, problems := s.dropIns(all)
	u, err := LoadFrom(all[0].String(), fragment, dropIns)
	if err != nil {
		return nil, err
	}
	u.Problems = slices.Concat(known.problems, problems, u.Problems)
	return u, nil
}

// LoadFrom reads a unit whose paths are known, from the manager or from an
// earlier Load. A drop-in that can't be read is a Problem with Line 0; one
// that is masked says nothing.
func LoadFrom(name, fragment string, dropIns []string) (*Unit, error) {
	if _, err := ParseName(name); err != nil {
		return nil, err
	}
	text, err := readFile(fragment)
	if err != nil {
		return nil, fmt.Errorf("read unit %q: %w", name, err)
	}
	if len(text) == 0 {
		return nil, fmt.Errorf("read unit %q: %q: %w", name, fragment, ErrMasked)
	}
	u := &Unit{Name: name, Fragment: fragment, DropIns: slices.Clone(dropIns)}
	u.Sections, u.Problems = Parse(fragment, text)
	for _, path := range dropIns {
		text, err := readFile(path)
		if err != nil {
			u.Problems = append(u.Problems, unread(path, err))
			continue
		}
		sections, problems := Parse(path, text)
		u.Sections = append(u.Sections, sections...)
		u.Problems = append(u.Problems, problems...)
	}
	return u, nil
}

// Values returns what a key that makes a list is set to: every assignment
// adds a value, an empty one drops those before it.
func (u *Unit) Values(section, key string) []string {
	var values []string
	for _, e := range u.entries(section, key) {
		values = append(values, e.Value)
	}
	return values
}

// Last returns what a key of a single value is set to; "" when it is unset or
// was reset.
func (u *Unit) Last(section, key string) string {
	entries := u.entries(section, key)
	if len(entries) == 0 {
		return ""
	}
	return entries[len(entries)-1].Value
}

// entries returns the assignments to one or several keys of one list that
// count: those behind the last empty one.
func (u *Unit) entries(section string, keys ...string) []Entry {
	var out []Entry
	for _, s := range u.Sections {
		if s.Name != section {
			continue
		}
		for _, e := range s.Entries {
			switch {
			case !slices.Contains(keys, e.Key):
			case e.Value == "":
				out = nil
			default:
				out = append(out, e)
			}
		}
	}
	return out
}

// without returns the unit as it is without the drop-ins of a file name.
func (u *Unit) without(dropIn string) *Unit {
	named := func(path string) bool { return path != u.Fragment && filepath.Base(path) == dropIn }
	c := *u
	c.DropIns = slices.DeleteFunc(slices.Clone(u.DropIns), named)
	c.Sections = slices.DeleteFunc(slices.Clone(u.Sections), func(s Section) bool { return named(s.File) })
	return &c
}
