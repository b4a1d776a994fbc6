package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"job-cleanup/pkg/journal"
	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/manager"
	"job-cleanup/pkg/outcome"
	"job-cleanup/pkg/unitfile"
)

// survivorsNamed is how many processes one line names.
const survivorsNamed = 5

// survivors are the processes of a job that still ran when its hook began. They
// may make again what the hook removes. Nothing is done to them: that is the
// manager's, or a step's.
type survivors struct {
	all      []survivor
	killMode string // KillMode= of the unit; "" for the default
	spared   bool   // SendSIGKILL=no
}

// survivor is one process. A number alone may be given out again.
type survivor struct {
	pid   int
	start uint64
	name  string // what the process calls itself: any bytes
}

// survivors looks for them in the unit's control group. Elsewhere than in the
// stop hook of a unit nobody can tell them from others' processes.
func (s *site) survivors(sub *subject) survivors {
	var found survivors
	if !sub.env || sub.job.CI {
		return found
	}
	text, _ := os.ReadFile("/proc/self/cgroup")
	found.all = notOurs(membersOf(outcome.ParseCgroup(string(text)), s.pid), s.pid)
	if sub.unit != nil {
		found.killMode = sub.unit.Last("Service", "KillMode")
		kill, set := unitfile.Boolean(sub.unit.Last("Service", "SendSIGKILL"))
		found.spared = set && !kill
	}
	return found
}

// membersOf lists the processes of our unit. Where the sandbox shows the unit's
// group as the root of all, that is the one.
func membersOf(group outcome.Cgroup, pid int) []int {
	if group.Path != "" {
		return manager.Processes(manager.Hierarchies, group.Path, pid)
	}
	if root := manager.Hierarchies[:1]; manager.Namespaced(root[0]) {
		return manager.Processes(root, "/", pid)
	}
	return nil
}

// notOurs are those of a unit's processes that have nothing to do with us.
func notOurs(members []int, pid int) []survivor {
	var all []survivor
	hook := family{top: hookTop(pid, members), parent: parentOf, known: map[int]bool{}}
	for _, member := range members {
		if hook.has(member) {
			continue
		}
		if one, ok := look(member); ok {
			all = append(all, one)
		}
	}
	return all
}

// hookTop is the process that the manager started as the hook: we, or the
// furthest process above us that is in the unit's group. All that is below it,
// as the rest of a pipe line in which we stand, is the hook's.
func hookTop(pid int, members []int) int {
	for up := parentOf(pid); up > 1 && slices.Contains(members, up); up = parentOf(pid) {
		pid = up
	}
	return pid
}

// family is a process and all that descend from it. It asks for the parent of
// each process once: a job may leave thousands, each the child of the one
// before, and the time that this takes is the hook's.
type family struct {
	top    int
	parent func(pid int) int
	known  map[int]bool
}

func (f *family) has(pid int) bool {
	var line []int
	in := false
	for ; pid > 1 && !in; pid = f.parent(pid) {
		known, again := f.known[pid]
		if in = known || pid == f.top; again {
			break
		}
		f.known[pid] = in
		line = append(line, pid)
	}
	for _, one := range line {
		f.known[one] = in
	}
	return in
}

// look reads what identifies a process; not ok when it is over, or can't be
// looked at.
func look(pid int) (survivor, bool) {
	start, err := ledger.ProcessStart(pid)
	if err != nil {
		return survivor{}, false
	}
	name, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "comm"))
	return survivor{pid: pid, start: start, name: strings.TrimSuffix(string(name), "\n")}, true
}

// any reports whether there were some.
func (v survivors) any() bool { return len(v.all) > 0 }

// left are those that still run.
func (v survivors) left() survivors {
	v.all = slices.DeleteFunc(slices.Clone(v.all), func(one survivor) bool {
		start, err := ledger.ProcessStart(one.pid)
		return err == nil && start != one.start || errors.Is(err, fs.ErrNotExist)
	})
	return v
}

// sentence tells of them, and what would keep them from outliving their job.
func (v survivors) sentence() string {
	names := make([]string, 0, survivorsNamed)
	for _, one := range v.all[:min(len(v.all), survivorsNamed)] {
		names = append(names, fmt.Sprintf("%d %q", one.pid, one.name))
	}
	if more := len(v.all) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	text := fmt.Sprintf("%d processes of the job still run", len(v.all))
	if len(v.all) == 1 {
		text = "1 process of the job still runs"
	}
	return fmt.Sprintf("%s (%s): %s", text, strings.Join(names, ", "), v.advice())
}

// advice is what helps, tried on systemd 252 and 257; see docs/safety.md. When
// the main process ends by itself, the manager ends the others before the hook
// runs. When it is the manager who ends it, the hook runs as soon as it is
// gone, whatever the others do.
func (v survivors) advice() string {
	const wait = "have the job wait for them when it gets SIGTERM, or set KillSignal=SIGKILL"
	switch {
	case v.killMode == "process" || v.killMode == "none":
		return "KillMode=" + v.killMode + " spares them, KillMode=control-group ends them"
	case v.spared:
		return "SendSIGKILL=no spares them"
	case v.killMode == "mixed":
		return "systemd ends them after the hook; " + wait + " with KillMode=control-group"
	}
	return "systemd ends them after the hook; " + wait
}

// tell adds to a summary which of them still run.
func (v survivors) tell(rec *journal.Record) {
	left := v.left()
	if !left.any() {
		return
	}
	rec.Survivors, rec.Detail = len(left.all), left.sentence()
	if rec.Priority == 0 {
		rec.Priority = journal.Notice
	}
}
