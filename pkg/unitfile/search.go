package unitfile

import "path/filepath"

// Search is where the manager looks for units and drop-ins.
type Search struct {
	Dirs []string // absolute; an earlier one hides what has the same name in a later one
	Root string   // put before every directory and before what an alias points to; "" is the machine itself
}

// SystemSearch is the path of the system manager, as in systemd.unit(5).
func SystemSearch() Search {
	return Search{Dirs: []string{
		"/etc/systemd/system.control",
		"/run/systemd/system.control",
		"/run/systemd/transient",
		"/run/systemd/generator.early",
		"/etc/systemd/system",
		"/etc/systemd/system.attached",
		"/run/systemd/system",
		"/run/systemd/system.attached",
		"/run/systemd/generator",
		"/usr/local/lib/systemd/system",
		"/lib/systemd/system",
		"/usr/lib/systemd/system",
		"/run/systemd/generator.late",
	}}
}

// UserSearch is the path of a user's manager. The arguments are what
// XDG_CONFIG_HOME, XDG_DATA_HOME and XDG_RUNTIME_DIR say or stand for; those
// that are no absolute paths are left out. XDG_CONFIG_DIRS and XDG_DATA_DIRS
// are taken at their defaults.
func UserSearch(configHome, dataHome, runtimeDir string) Search {
	var s Search
	add := func(base string, names ...string) {
		for _, name := range names {
			if filepath.IsAbs(base) {
				s.Dirs = append(s.Dirs, filepath.Join(base, "systemd", name))
			}
		}
	}
	add(configHome, "user.control")
	add(runtimeDir, "user.control", "transient", "generator.early")
	add(configHome, "user")
	add("/etc/xdg", "user")
	add("/etc", "user")
	add(runtimeDir, "user")
	add("/run", "user")
	add(runtimeDir, "generator")
	add(dataHome, "user")
	add("/usr/local/share", "user")
	add("/usr/share", "user")
	add("/usr/local/lib", "user")
	add("/usr/lib", "user")
	add(runtimeDir, "generator.late")
	return s
}

// dirs are the directories on this machine.
func (s Search) dirs() []string {
	if s.Root == "" {
		return s.Dirs
	}
	dirs := make([]string, len(s.Dirs))
	for i, d := range s.Dirs {
		dirs[i] = filepath.Join(s.Root, d)
	}
	return dirs
}
