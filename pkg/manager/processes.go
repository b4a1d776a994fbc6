package manager

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Hierarchies are where the groups that the manager makes may be mounted: the
// unified hierarchy, that of a hybrid machine, and the manager's own of
// version 1. See systemd's CGROUP_DELEGATION document.
var Hierarchies = []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd"}

// A job with a group of its own may make any number of groups in it.
const (
	mostGroups    = 1000
	mostProcesses = 10_000
)

// Processes lists the processes in a control group and in those below it, by
// number. The group is a path from the root of a hierarchy; member is a process
// that must be among them, which tells the right hierarchy; among very many it may
// be left out like any other. Nil when there is
// no such group. A process that this namespace does not know is left out.
func Processes(hierarchies []string, group string, member int) []int {
	for _, root := range hierarchies {
		all := processesIn(filepath.Join(root, group))
		if slices.Contains(all, member) || len(all) >= mostProcesses {
			slices.Sort(all)
			all = slices.Compact(all)
			return all[:min(len(all), mostProcesses)]
		}
	}
	return nil
}

// Namespaced reports whether what a hierarchy shows as its root is the group of
// some unit: the real root has no type. Version 1 does not tell.
func Namespaced(hierarchy string) bool {
	_, err := os.Stat(filepath.Join(hierarchy, "cgroup.type"))
	return err == nil
}

func processesIn(group string) []int {
	var all []int
	todo := []string{group}
	for seen := 0; len(todo) > 0 && seen < mostGroups && len(all) < mostProcesses; seen++ {
		folder := todo[0]
		todo = append(todo[1:], groupsIn(folder, mostGroups-len(todo))...)
		all = append(all, members(folder)...)
	}
	return all
}

// groupsIn lists at most so many groups in a group.
func groupsIn(folder string, most int) []string {
	dir, err := os.Open(folder)
	if err != nil {
		return nil
	}
	defer dir.Close()
	var all []string
	entries, _ := dir.ReadDir(mostGroups)
	for _, entry := range entries {
		if entry.IsDir() && len(all) < most {
			all = append(all, filepath.Join(folder, entry.Name()))
		}
	}
	return all
}

// members reads cgroup.procs. In a threaded group that fails: its processes
// stand in the group above it.
func members(folder string) []int {
	file, err := os.Open(filepath.Join(folder, "cgroup.procs"))
	if err != nil {
		return nil
	}
	defer file.Close()
	text, _ := io.ReadAll(io.LimitReader(file, 1<<20))
	var all []int
	for _, field := range bytes.Fields(text) {
		if pid, err := strconv.Atoi(string(field)); err == nil && pid > 0 {
			all = append(all, pid)
		}
	}
	return all
}
