package unitfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// dropIns returns the paths of a unit's drop-ins in the order in which the
// manager applies them: by file name, whatever directory they lie in. Of
// several with one name the first found is taken, even if it is empty or
// leads nowhere; so an administrator hides a vendor's. The directories of all
// names are asked first, each along the whole search path, those of the type
// last.
func (s Search) dropIns(names []Name) ([]string, []Problem) {
	var dirs []string
	for _, name := range names {
		variants := variants(name)
		for _, d := range s.dirs() {
			for _, v := range variants {
				dirs = append(dirs, filepath.Join(d, v+".d"))
			}
		}
	}
	for _, d := range s.dirs() {
		dirs = append(dirs, filepath.Join(d, names[0].Type+".d"))
	}
	return confFiles(dirs)
}

// confFiles lists the *.conf files of several directories by file name.
// Directories that are links are shown by where they lead, as the manager
// shows them.
func confFiles(dirs []string) ([]string, []Problem) {
	found := map[string]string{}
	var problems []Problem
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil && !absent(err) {
			problems = append(problems, unread(dir, err))
		}
		if len(entries) == 0 {
			continue
		}
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		for _, e := range entries {
			name := e.Name()
			if strings.HasSuffix(name, ".conf") && name[0] != '.' && found[name] == "" {
				found[name] = filepath.Join(dir, name)
			}
		}
	}
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		names[i] = found[name]
	}
	return names, problems
}

// variants returns the names whose drop-ins a unit takes, the closest first:
// its own, its template's, and those that are cut behind a dash. For
// "a-b@1.service" these are itself, "a-b@.service", "a-.service",
// "a-@1.service" and "a-@.service".
func variants(name Name) []string {
	var out []string
	seen := map[Name]bool{}
	var add func(Name)
	add = func(n Name) {
		if seen[n] {
			return
		}
		seen[n] = true
		out = append(out, n.String())
		if n.IsInstance() {
			add(n.Template())
		}
		if shorter := cutAtDash(n.Prefix); shorter != "" {
			add(Name{Prefix: shorter, At: n.IsInstance(), Instance: n.Instance, Type: n.Type})
		}
	}
	add(name)
	return out
}

// cutAtDash returns a prefix up to its last dash, that included; a dash at
// the very end does not count. It returns "" where nothing would be left.
func cutAtDash(prefix string) string {
	prefix = strings.TrimSuffix(prefix, "-")
	dash := strings.LastIndexByte(prefix, '-')
	if dash <= 0 {
		return ""
	}
	return prefix[:dash+1]
}

// absent reports whether an error means that there is no such directory. A
// name may be too long to have one.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errTooLong)
}
