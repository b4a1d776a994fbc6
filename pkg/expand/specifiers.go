package expand

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"job-cleanup/pkg/outcome"
)

// Specifiers holds what the specifiers of systemd.unit(5) stand for. A field
// that is empty is not known, and a text that needs it can't be expanded.
type Specifiers struct {
	Unit string // full name of the unit: "batch@a-b.service"

	User string // name of the user whose manager runs the unit; User= of the unit plays no part
	UID  string // that user's number, decimal
	Home string // that user's home folder

	Host      string // host name
	MachineID string // 32 hexadecimal digits
	BootID    string // 32 hexadecimal digits

	RuntimeDir string // %t
	StateDir   string // %S
	CacheDir   string // %C
	LogsDir    string // %L
	ConfigDir  string // %E
	TmpDir     string // %T
	VarTmpDir  string // %V
}

// ForSystem returns what the system manager gives a unit. Host and ids are
// left to the caller. The temporary folders are fixed: the job can write the
// environment that its hook gets, so TMPDIR there is not the manager's word.
func ForSystem(unit string) Specifiers {
	return Specifiers{
		Unit: unit, User: "root", UID: "0", Home: "/root",
		RuntimeDir: "/run", StateDir: "/var/lib", CacheDir: "/var/cache", LogsDir: "/var/log",
		ConfigDir: "/etc", TmpDir: "/tmp", VarTmpDir: "/var/tmp",
	}
}

// ForUser returns what a user manager, or no manager at all, gives a unit:
// the folders of the XDG base directory specification, in the places that
// systemd uses since version 254. The unit may be empty.
func ForUser(unit, user string, uid uint32, home string, env outcome.Lookup) Specifiers {
	dir := func(fallback string, names ...string) string {
		for _, name := range names {
			if v, ok := env(name); ok && path.IsAbs(v) {
				return path.Clean(v)
			}
		}
		return fallback
	}
	below := func(name string) string {
		if home == "" {
			return ""
		}
		return path.Join(home, name)
	}
	s := Specifiers{
		Unit: unit, User: user, UID: strconv.FormatUint(uint64(uid), 10), Home: home,
		RuntimeDir: dir("", "XDG_RUNTIME_DIR"),
		StateDir:   dir(below(".local/state"), "XDG_STATE_HOME"),
		CacheDir:   dir(below(".cache"), "XDG_CACHE_HOME"),
		ConfigDir:  dir(below(".config"), "XDG_CONFIG_HOME"),
		TmpDir:     dir("/tmp", "TMPDIR", "TEMP", "TMP"),
		VarTmpDir:  dir("/var/tmp", "TMPDIR", "TEMP", "TMP"),
	}
	if s.StateDir != "" {
		s.LogsDir = path.Join(s.StateDir, "log")
	}
	return s
}

// Specifier is one row of the specifier table.
type Specifier struct {
	Letter   byte
	Doc      string
	Identity bool // tells one job from another
	value    func(Specifiers) (string, error)
}

// Letters returns all specifiers, %% aside, in the order of the reference page.
func Letters() []Specifier { return slices.Clone(letters) }

var letters = []Specifier{
	{'n', "full unit name", true, func(s Specifiers) (string, error) { return s.Unit, nil }},
	{'N', "unit name without its type suffix", true, func(s Specifiers) (string, error) { return s.stem(), nil }},
	{'p', "prefix: before the first @, the same as %N without one", true, func(s Specifiers) (string, error) { return s.prefix(), nil }},
	{'P', "%p with escaping undone", true, func(s Specifiers) (string, error) { return unescape(s.prefix()) }},
	{'i', "instance: between the first @ and the type suffix", true, func(s Specifiers) (string, error) { return s.instance(), nil }},
	{'I', "%i with escaping undone", true, func(s Specifiers) (string, error) { return unescape(s.instance()) }},
	{'j', "last component of the prefix: behind its last -", true, func(s Specifiers) (string, error) { return s.last(), nil }},
	{'J', "%j with escaping undone", true, func(s Specifiers) (string, error) { return unescape(s.last()) }},
	{'t', "runtime folder: /run, or $XDG_RUNTIME_DIR", false, func(s Specifiers) (string, error) { return s.RuntimeDir, nil }},
	{'S', "state folder: /var/lib, or $XDG_STATE_HOME", false, func(s Specifiers) (string, error) { return s.StateDir, nil }},
	{'C', "cache folder: /var/cache, or $XDG_CACHE_HOME", false, func(s Specifiers) (string, error) { return s.CacheDir, nil }},
	{'L', "logs folder: /var/log, or $XDG_STATE_HOME/log", false, func(s Specifiers) (string, error) { return s.LogsDir, nil }},
	{'E', "configuration folder: /etc, or $XDG_CONFIG_HOME", false, func(s Specifiers) (string, error) { return s.ConfigDir, nil }},
	{'T', "folder for temporary files: /tmp, or $TMPDIR", false, func(s Specifiers) (string, error) { return s.TmpDir, nil }},
	{'V', "folder for larger ones: /var/tmp, or $TMPDIR", false, func(s Specifiers) (string, error) { return s.VarTmpDir, nil }},
	{'u', "name of the user whose manager runs the unit: root for the system's", false, func(s Specifiers) (string, error) { return s.User, nil }},
	{'U', "that user's number", false, func(s Specifiers) (string, error) { return s.UID, nil }},
	{'h', "that user's home folder", false, func(s Specifiers) (string, error) { return s.Home, nil }},
	{'H', "host name", false, func(s Specifiers) (string, error) { return s.Host, nil }},
	{'m', "machine id", false, func(s Specifiers) (string, error) { return s.MachineID, nil }},
	{'b', "boot id", false, func(s Specifiers) (string, error) { return s.BootID, nil }},
}

// letter returns the row of a specifier.
func letter(c byte) (Specifier, bool) {
	for _, l := range letters {
		if l.Letter == c {
			return l, true
		}
	}
	return Specifier{}, false
}

// Expand returns what the specifier %c stands for. The error is an *Error; it
// is Unset when the specifier has no value here.
func (s Specifiers) Expand(c byte) (string, error) {
	if c == '%' {
		return "%", nil
	}
	l, ok := letter(c)
	if !ok {
		return "", faultf("write %% for a percent sign", "unknown specifier %q", "%"+string(rune(c)))
	}
	v, err := l.value(s)
	if err != nil {
		return "", err
	}
	if v == "" {
		e := faultf("it stands for the "+l.Doc, "specifier %%%c has no value here", c)
		e.Unset = true
		return "", e
	}
	return v, literal("specifier %"+string(rune(c)), v)
}

// stem is the unit's name without its type suffix.
func (s Specifiers) stem() string {
	if i := strings.LastIndexByte(s.Unit, '.'); i >= 0 {
		return s.Unit[:i]
	}
	return s.Unit
}

// prefix is what stands before the first @.
func (s Specifiers) prefix() string {
	before, _, _ := strings.Cut(s.stem(), "@")
	return before
}

// instance is what stands behind the first @, empty when there is none.
func (s Specifiers) instance() string {
	_, after, _ := strings.Cut(s.stem(), "@")
	return after
}

// last is what stands behind the prefix's last dash.
func (s Specifiers) last() string {
	p := s.prefix()
	return p[strings.LastIndexByte(p, '-')+1:]
}

// unescape undoes the escaping of unit names: "-" stands for a slash, \xHH
// for a byte.
func unescape(name string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		switch {
		case name[i] == '-':
			b.WriteByte('/')
		case name[i] == '\\':
			if i+4 > len(name) || name[i+1] != 'x' {
				return "", faultf("see systemd-escape(1)", "%q in the unit's name is not properly escaped", name)
			}
			n, err := strconv.ParseUint(name[i+2:i+4], 16, 8)
			if err != nil {
				return "", faultf("see systemd-escape(1)", "%q in the unit's name is not properly escaped", name)
			}
			b.WriteByte(byte(n))
			i += 3
		default:
			b.WriteByte(name[i])
		}
	}
	return b.String(), nil
}
