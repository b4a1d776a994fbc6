//go:build linux

package rig

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cgroupPrefix starts the names of machines and of their control groups.
const cgroupPrefix = "job-cleanup-test-"

// hierarchies are where systemd keeps its control groups: the unified one, or
// the two of a hybrid host.
var hierarchies = []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd"}

// makeCgroups makes a control group in every hierarchy of this host, after
// ending what killed test runs left.
func makeCgroups(name string) ([]string, error) {
	var made []string
	for _, hierarchy := range hierarchies {
		if _, err := os.Stat(filepath.Join(hierarchy, "cgroup.procs")); err != nil {
			continue
		}
		groups, _ := filepath.Glob(filepath.Join(hierarchy, cgroupPrefix+"*"))
		for _, group := range groups {
			if orphaned(filepath.Base(group)) {
				killGroup(group)
				removeCgroups(filepath.Base(group))
			}
		}
		group := filepath.Join(hierarchy, name)
		if err := os.Mkdir(group, 0o755); err != nil {
			return nil, err
		}
		made = append(made, group)
	}
	if made == nil {
		return nil, errors.New("none is mounted")
	}
	return made, nil
}

// orphaned reports whether the test process that a machine is named after is
// gone. A pid that was given out again only delays the tidying up.
func orphaned(machine string) bool {
	owner, _, _ := strings.Cut(strings.TrimPrefix(machine, cgroupPrefix), "-")
	pid, err := strconv.Atoi(owner)
	return err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

// killGroup kills every process in a group and below it.
func killGroup(group string) {
	for _, folder := range tree(group) {
		text, _ := os.ReadFile(filepath.Join(folder, "cgroup.procs"))
		for _, field := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil && pid > 1 {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
}

// removeCgroups removes a machine's groups and the folder that nspawn leaves
// when it is killed.
func removeCgroups(name string) {
	os.Remove(filepath.Join("/run/systemd/nspawn/propagate", name))
	for _, hierarchy := range hierarchies {
		group := filepath.Join(hierarchy, name)
		poll(2*time.Second, func() bool { // the kernel empties a group a moment after its last process
			for _, folder := range slices.Backward(tree(group)) {
				os.Remove(folder)
			}
			_, err := os.Stat(group)
			return errors.Is(err, fs.ErrNotExist)
		})
	}
}

// tree lists a group and those below it, parents first.
func tree(group string) []string {
	var folders []string
	_ = filepath.WalkDir(group, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			folders = append(folders, path)
		}
		return nil
	})
	return folders
}
