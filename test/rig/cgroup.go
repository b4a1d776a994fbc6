//go:build linux

package rig

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// cgroupPrefix starts the names of machines and of their control groups.
const cgroupPrefix = "job-cleanup-test-"

// hierarchies are where systemd keeps its control groups: the unified one, or
// the two of a hybrid host.
var hierarchies = []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd"}

// makeCgroups makes a control group in every hierarchy of this host, after
// removing the empty ones that killed test runs left.
func makeCgroups(name string) ([]string, error) {
	var made []string
	for _, hierarchy := range hierarchies {
		if _, err := os.Stat(filepath.Join(hierarchy, "cgroup.procs")); err != nil {
			continue
		}
		stale, _ := filepath.Glob(filepath.Join(hierarchy, cgroupPrefix+"*"))
		for _, group := range stale {
			if old(group) {
				removeTree(group)
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

// old tells a leftover from a group that another test run is about to enter.
func old(group string) bool {
	info, err := os.Stat(group)
	return err == nil && time.Since(info.ModTime()) > time.Hour
}

func removeCgroups(name string) {
	for _, hierarchy := range hierarchies {
		group := filepath.Join(hierarchy, name)
		poll(2*time.Second, func() bool { // the kernel empties a group a moment after its last process
			removeTree(group)
			_, err := os.Stat(group)
			return errors.Is(err, fs.ErrNotExist)
		})
	}
}

// removeTree removes groups from the leaves up; those with processes stay.
func removeTree(group string) {
	var folders []string
	filepath.WalkDir(group, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			folders = append(folders, path)
		}
		return nil
	})
	for _, folder := range slices.Backward(folders) {
		os.Remove(folder)
	}
}
