package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"job-cleanup/pkg/expand"
	"job-cleanup/pkg/manager"
	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/unitfile"
)

// describe fills in what cleaners need to know of the job.
func (s *site) describe(sub *subject) {
	job := &sub.job
	job.Boot, _ = manager.BootID("/")
	job.Homes = homes(accounts("/etc/passwd"))
	if sub.unit != nil {
		job.Sandbox = unitfile.Sandbox(sub.unit, s.expander(sub))
	}
	if sub.live != nil {
		describeLive(sub)
	}
	job.User = s.user(sub)
	job.Bases = s.bases(sub)
	job.Outside = s.outside(sub)
	job.FullRights = s.uid == 0 && (sub.hook || plus(sub.unit))
}

// plus reports whether the unit's own hook has root's rights whatever its User=
// says.
func plus(unit *unitfile.Unit) bool {
	if unit == nil {
		return false
	}
	return slices.ContainsFunc(unitfile.Hooks(unit), func(h unitfile.Hook) bool {
		return h.Key == "ExecStopPost" && strings.ContainsAny(h.Prefix, "+!")
	})
}

// expander expands the specifiers of the unit's own keys.
func (s *site) expander(sub *subject) unitfile.Expand {
	specs := s.specifiers(sub)
	return func(text string) (string, error) {
		result, err := expand.Expand(text, specs, nil)
		return result.Text(), err
	}
}

func describeLive(sub *subject) {
	job, live := &sub.job, sub.live
	if live.Invocation == job.Invocation {
		job.Start = live.Started
	}
	job.Fragment, job.DropIns = live.Fragment, live.DropIns
	if live.TimeoutStart != manager.Infinite {
		job.StartLimit = live.TimeoutStart
	}
	if live.TimeoutStop != manager.Infinite {
		job.StopLimit = live.TimeoutStop
	}
}

// user tells who the job runs as; nil when nobody can say, which gives its
// words no rights at all. That it is a CI job is only what its environment
// says: it runs as the unit of its runner does.
func (s *site) user(sub *subject) *residue.Identity {
	if s.uid != 0 || sub.identity.Unit == "" {
		return s.callerIdentity()
	}
	if live := sub.live; live != nil && live.UID != nil && live.GID != nil {
		id := &residue.Identity{UID: *live.UID, GID: *live.GID, Name: live.User, Dynamic: live.Dynamic}
		id.Home = homeOf(accounts("/etc/passwd"), id.UID)
		return id
	}
	name, dynamic := s.userName(sub)
	switch {
	case name == "" && !dynamic:
		return &residue.Identity{Name: "root", Home: "/root"}
	case name == "":
		return nil
	}
	return identityOf(accounts("/etc/passwd"), name)
}

// userName is what User= of the unit says, and whether its user is dynamic.
func (s *site) userName(sub *subject) (string, bool) {
	if sub.live != nil && sub.live.LoadState == "loaded" {
		return sub.live.User, sub.live.Dynamic
	}
	if sub.unit == nil {
		return "", true // no file, no manager: nobody knows
	}
	dynamic, _ := unitfile.Boolean(sub.unit.Last("Service", "DynamicUser"))
	return sub.unit.Last("Service", "User"), dynamic
}

// bases are the folders of the job's own: those the manager made for the unit,
// or a CI job's workspace.
func (s *site) bases(sub *subject) []string {
	if sub.job.CI {
		if s.uid == 0 && !sub.rootsOwn() {
			return nil // the job's own words
		}
		return s.workspaces()
	}
	var all []string
	for key, root := range s.managedRoots(sub) {
		for _, name := range s.managed(sub, key) {
			if filepath.IsAbs(root) {
				all = append(all, filepath.Join(root, name))
			}
		}
	}
	slices.Sort(all)
	return all
}

// managedRoots is where the manager makes the folders of a unit, by key.
func (s *site) managedRoots(sub *subject) map[string]string {
	if sub.job.UserBus {
		state := s.xdgRoot("XDG_STATE_HOME", ".local/state")
		return map[string]string{
			"RuntimeDirectory": s.env["XDG_RUNTIME_DIR"], "StateDirectory": state,
			"CacheDirectory": s.xdgRoot("XDG_CACHE_HOME", ".cache"), "LogsDirectory": filepath.Join(state, "log"),
		}
	}
	return map[string]string{
		"RuntimeDirectory": "/run", "StateDirectory": "/var/lib", "CacheDirectory": "/var/cache", "LogsDirectory": "/var/log",
	}
}

// managed lists the names in one of these keys: as the manager expanded them,
// or as the unit's file has them.
func (s *site) managed(sub *subject, key string) []string {
	if live := sub.live; live != nil {
		return map[string][]string{
			"RuntimeDirectory": live.RuntimeDirectory, "StateDirectory": live.StateDirectory,
			"CacheDirectory": live.CacheDirectory, "LogsDirectory": live.LogsDirectory,
		}[key]
	}
	if sub.unit == nil {
		return nil
	}
	var names []string
	for _, value := range sub.unit.Values("Service", key) {
		for _, word := range strings.Fields(value) {
			word, _, _ = strings.Cut(word, ":") // a link beside it
			if name, err := s.expander(sub)(word); err == nil && filepath.IsLocal(name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// xdgRoot is one of the XDG base folders itself.
func (s *site) xdgRoot(variable, below string) string {
	if dir := s.xdg(variable, below); dir != "" {
		return filepath.Dir(dir)
	}
	return ""
}

// workspaces are the folders that CI platforms give to a job.
func (s *site) workspaces() []string {
	var all []string
	for _, name := range []string{"GITHUB_WORKSPACE", "RUNNER_TEMP", "CI_PROJECT_DIR", "WORKSPACE", "WORKSPACE_TMP", "BUILDKITE_BUILD_CHECKOUT_PATH"} {
		if dir := s.env[name]; filepath.IsAbs(dir) {
			all = append(all, filepath.Clean(dir))
		}
	}
	return all
}

// outside reports whether the unit has a sandbox of its own and we do not
// stand in it: a "+" line, a handler, a sweep, a person's shell.
func (s *site) outside(sub *subject) bool {
	if len(sub.job.Sandbox) == 0 {
		return false
	}
	if !sub.inside || sub.job.UserBus && !sub.hook {
		return true
	}
	manager := "1"
	if sub.job.UserBus {
		manager = strconv.Itoa(os.Getppid())
	}
	return seesAs(manager, sub.job.Sandbox)
}

// seesAs reports whether the paths of a sandbox are to us what they are to the
// service manager. Comparing mount namespaces does not tell: systemd makes one
// for "+" lines too. Who may not look through the manager's eyes has not the
// full rights of a "+" line.
func seesAs(manager string, sandbox []residue.Hidden) bool {
	root := "/proc/" + manager + "/root"
	if _, err := os.Stat(root + "/"); err != nil {
		return false
	}
	for _, hidden := range sandbox {
		ours, err := os.Stat(hidden.Path)
		theirs, err2 := os.Stat(root + hidden.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && errors.Is(err2, fs.ErrNotExist):
		case errors.Join(err, err2) != nil, !os.SameFile(ours, theirs):
			return false
		}
	}
	return true
}
