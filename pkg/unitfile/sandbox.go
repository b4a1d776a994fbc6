package unitfile

import (
	"path/filepath"
	"slices"
	"strings"

	"job-cleanup/pkg/residue"
)

// Expand expands the specifiers in a value of a unit.
type Expand func(value string) (string, error)

// Sandbox tells where a service's file tree is not the host's, ordered by
// path. Of several that hold a path the longest counts. Where a setting can't
// be read the whole tree counts as another one, since nothing is known then.
func Sandbox(u *Unit, expand Expand) []residue.Hidden {
	s := sandbox{unit: u, expand: expand, hidden: map[string]residue.HiddenHow{}}
	s.root()
	s.tmp()
	s.home()
	s.mounts()
	s.ownFolders()
	var out []residue.Hidden
	for path, how := range s.hidden {
		out = append(out, residue.Hidden{Path: path, How: how})
	}
	slices.SortFunc(out, func(a, b residue.Hidden) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// sandbox collects what hides which path.
type sandbox struct {
	unit   *Unit
	expand Expand
	hidden map[string]residue.HiddenHow
}

// caution orders what may be said of one path: to close residue as gone with
// its unit is the last thing to do by mistake.
var caution = map[residue.HiddenHow]int{residue.Private: 1, residue.Masked: 2, residue.Elsewhere: 3}

func (s *sandbox) hide(path string, how residue.HiddenHow) {
	if caution[how] > caution[s.hidden[path]] {
		s.hidden[path] = how
	}
}

// root is another tree instead of the host's.
func (s *sandbox) root() {
	dir, image := s.unit.Last("Service", "RootDirectory"), s.unit.Last("Service", "RootImage")
	if image != "" || dir != "" && filepath.Clean(dir) != "/" {
		s.hide("/", residue.Elsewhere)
	}
}

// tmp is a /tmp of the unit's own. A unit that joins another's namespace has
// that one's, which may stay when the unit ends.
func (s *sandbox) tmp() {
	word := strings.ToLower(s.unit.Last("Service", "PrivateTmp"))
	private, _ := Boolean(word)
	if !private && word != "connected" && word != "disconnected" && !s.dynamic() {
		return
	}
	how := residue.Private
	if s.unit.Last("Unit", "JoinsNamespaceOf") != "" {
		how = residue.Elsewhere
	}
	s.hide("/tmp", how)
	s.hide("/var/tmp", how)
}

// home is what ProtectHome= takes out of sight.
func (s *sandbox) home() {
	word := strings.ToLower(s.unit.Last("Service", "ProtectHome"))
	if yes, _ := Boolean(word); yes || word == "tmpfs" {
		for _, path := range []string{"/home", "/root", "/run/user"} {
			s.hide(path, residue.Masked)
		}
	}
}

// mounts are the settings that list paths. The two keys of a line make one
// list, and an empty assignment to either drops it.
func (s *sandbox) mounts() {
	at := func(i int) func([]string) string {
		return func(fields []string) string {
			if len(fields) > i && fields[i] != "" {
				return fields[i]
			}
			return fields[0]
		}
	}
	s.list(residue.Elsewhere, at(1), "BindPaths", "BindReadOnlyPaths")
	s.list(residue.Elsewhere, at(1), "MountImages")
	s.list(residue.Private, at(0), "TemporaryFileSystem")
	s.list(residue.Masked, at(0), "InaccessiblePaths", "InaccessibleDirectories")
}

// list hides the paths of one list; pick takes the path out of the fields of
// a word.
func (s *sandbox) list(how residue.HiddenHow, pick func([]string) string, keys ...string) {
	for _, e := range s.unit.entries("Service", keys...) {
		words, ok := words(e.Value)
		if !ok {
			s.hide("/", residue.Elsewhere)
		}
		for _, fields := range words {
			if path, ok := s.path(pick(fields)); ok {
				s.hide(path, how)
			} else {
				s.hide("/", residue.Elsewhere)
			}
		}
	}
}

// path reads a path with the prefixes that systemd allows before it.
func (s *sandbox) path(text string) (string, bool) {
	text = strings.TrimLeft(text, "-+")
	if strings.Contains(text, "%") {
		if s.expand == nil {
			return "", false
		}
		expanded, err := s.expand(text)
		if err != nil {
			return "", false
		}
		text = expanded
	}
	return filepath.Clean(text), filepath.IsAbs(text)
}

// ownFolders are bind mounts of the host's, so they outlive a temporary file
// system that they stand in.
func (s *sandbox) ownFolders() {
	for _, own := range []struct{ key, base string }{
		{"RuntimeDirectory", "/run"}, {"StateDirectory", "/var/lib"}, {"CacheDirectory", "/var/cache"},
		{"LogsDirectory", "/var/log"}, {"ConfigurationDirectory", "/etc"},
	} {
		for _, e := range s.unit.entries("Service", own.key) {
			words, _ := words(e.Value)
			for _, fields := range words {
				for _, base := range []string{own.base, own.base + "/private"} {
					if path, ok := s.path(base + "/" + fields[0]); ok && s.private(path) {
						s.hide(path, residue.Elsewhere)
					}
				}
			}
		}
	}
}

// private reports whether a path lies in a tree of the unit's own.
func (s *sandbox) private(path string) bool {
	how, longest := residue.HiddenHow(""), ""
	for p, h := range s.hidden {
		if within(path, p) && len(p) >= len(longest) {
			how, longest = h, p
		}
	}
	return how == residue.Private
}

// dynamic reports whether the user is made for the unit, which implies
// PrivateTmp=.
func (s *sandbox) dynamic() bool {
	yes, _ := Boolean(s.unit.Last("Service", "DynamicUser"))
	return yes
}
