package unitfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// names is what the directories of a search path hold: the file of a unit, or
// the name that a link makes it an alias of.
type names struct {
	files    map[string]string // name → path
	aliases  map[string]string // name → name
	problems []Problem         // directories that could not be read
	real     map[string]string // directory → where it leads, of those that were asked about
}

// listed is a directory of a search path with what it holds.
type listed struct {
	dir     string
	entries []fs.DirEntry
}

// list reads the directories of the search path, those that exist.
func (s Search) list() ([]listed, []Problem) {
	var all []listed
	var problems []Problem
	for _, dir := range s.dirs() {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, unread(dir, err))
		}
		all = append(all, listed{dir, entries})
	}
	return all, problems
}

// names reads the directories.
func (s Search) names() names { return s.namesIn(s.list()) }

// namesIn takes the names out of the directories. The first that has a name
// decides about it.
func (s Search) namesIn(all []listed, problems []Problem) names {
	n := names{files: map[string]string{}, aliases: map[string]string{}, real: map[string]string{}, problems: problems}
	for _, l := range all {
		for _, e := range l.entries {
			n.add(s, l.dir, e)
		}
	}
	return n
}

// add notes one directory entry.
func (n names) add(s Search, dir string, e fs.DirEntry) {
	name, err := ParseName(e.Name())
	if err != nil || e.IsDir() || n.files[e.Name()] != "" || n.aliases[e.Name()] != "" {
		return
	}
	path := filepath.Join(dir, e.Name())
	target, isAlias := "", false
	if e.Type()&fs.ModeSymlink != 0 {
		target, isAlias = n.aliasOf(s, path)
	}
	switch {
	case !isAlias:
		n.files[e.Name()] = path
	case target != e.Name() && mayAlias(name, target):
		n.aliases[e.Name()] = target
	}
}

// aliasOf returns the name that a link in the search path points to, if that
// too lies in the search path. A link to anywhere else is the unit itself.
func (n names) aliasOf(s Search, link string) (string, bool) {
	target, err := os.Readlink(link)
	if err != nil {
		return "", false
	}
	if filepath.IsAbs(target) {
		target = filepath.Join(s.Root, target)
	} else {
		target = filepath.Join(filepath.Dir(link), target)
	}
	parents := n.both(filepath.Dir(target))
	for _, dir := range s.dirs() {
		dirs := n.both(filepath.Clean(dir))
		for _, parent := range parents {
			if slices.ContainsFunc(dirs, func(d string) bool { return within(parent, d) }) {
				return filepath.Base(target), true
			}
		}
	}
	return "", false
}

// both are a directory as it is called, and where it leads: the same, unless
// there are links on the way, and when it does not exist. The many links of a
// search path ask about the same few.
func (n names) both(dir string) []string {
	real, known := n.real[dir]
	if !known {
		var err error
		if real, err = filepath.EvalSymlinks(dir); err != nil {
			real = dir
		}
		n.real[dir] = real
	}
	return []string{dir, real}
}

// mayAlias reports whether a name may stand for another: the type is the
// same, and so are the instances, unless an instance leads to a template.
func mayAlias(name Name, target string) bool {
	to, err := ParseName(target)
	if err != nil || to.Type != name.Type || to.At != name.At {
		return false
	}
	return to.Instance == name.Instance || name.IsInstance() && to.IsTemplate()
}

// fragment returns the path of a unit's own file, "" when there is none.
// An instance without a file of its own has its template's.
func (n names) fragment(name Name) string {
	for range 8 { // as many aliases in a row as the manager follows
		id := name.String()
		switch {
		case n.files[id] != "":
			return n.files[id]
		case n.aliases[id] != "":
			to, err := ParseName(n.aliases[id])
			if err != nil {
				return ""
			}
			name = to
		case name.IsInstance():
			name = name.Template()
		default:
			return ""
		}
	}
	return ""
}

// all returns the names of the unit that has this fragment: its real name
// first, then the aliases in the order of the alphabet.
func (n names) all(name Name, fragment string) []Name {
	main := name
	if real, err := ParseName(filepath.Base(fragment)); err == nil {
		main = real
		if real.IsTemplate() {
			main = real.WithInstance(name.Instance)
		}
	}
	found := []Name{}
	for text := range n.aliases {
		alias, err := ParseName(text)
		if err != nil || n.fragment(alias) != fragment {
			continue
		}
		if alias.IsTemplate() {
			alias = alias.WithInstance(name.Instance)
		}
		// An instance of the alias may have been pointed elsewhere.
		if alias.Instance == name.Instance && alias != main && n.fragment(alias) == fragment {
			found = append(found, alias)
		}
	}
	if name != main {
		found = append(found, name)
	}
	slices.SortFunc(found, func(a, b Name) int { return strings.Compare(a.String(), b.String()) })
	return append([]Name{main}, slices.Compact(found)...)
}

// within reports whether path is dir or below it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}
