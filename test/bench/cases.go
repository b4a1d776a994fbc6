//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// start measures a run that finds nothing to do.
func (p *programs) start() error {
	nothing := func() error { return nil }
	idle := p.cleanup("/var/tmp/job-cleanup-bench-is-not-there", "/var/tmp")
	run, version, peak, err := rounds(41, nothing, idle, []string{p.ours, "version"})
	if err != nil {
		return err
	}
	report("run with nothing to do : version", run, version, "at least 0.67x")
	run, hello, _, err := rounds(41, nothing, idle, []string{p.hello})
	if err != nil {
		return err
	}
	report("run with nothing to do : hello world in Go", run, hello, "at least 0.33x")
	info, err := os.Stat(p.ours)
	if err != nil {
		return err
	}
	fmt.Printf("%-44s %7d KiB %28s\n", "its peak memory", peak>>10, "under 15 MiB")
	fmt.Printf("%-44s %7d KiB\n", "size of the binary", info.Size()>>10)
	return nil
}

// purge measures the removal of trees against rm -rf.
func (p *programs) purge(fileSystem, mount string) error {
	tree := filepath.Join(mount, "tree")
	for _, shape := range []struct {
		what           string
		folders, files int // in each
		wanted         string
	}{
		{"100,000 files in 1,000 folders", 1000, 100, "at least 1.5x"},
		{"100,000 files in one folder", 1, 100_000, "at least 0.9x"},
	} {
		prepare := func() error { return grow(tree, shape.folders, shape.files) }
		ours, rm, _, err := rounds(5, prepare, p.cleanup(tree, mount), []string{"rm", "-rf", tree})
		if err != nil {
			return err
		}
		report(fileSystem+", "+shape.what+" : rm -rf", ours, rm, shape.wanted)
	}
	return nil
}

// million measures the memory of a purge of a million files, in one folder and
// in many.
func (p *programs) million(mount string) error {
	tree := filepath.Join(mount, "tree")
	for _, folders := range []int{1, 10_000} {
		if err := grow(tree, folders, 1_000_000/folders); err != nil {
			return err
		}
		c, err := once(p.cleanup(tree, mount))
		if err != nil {
			return err
		}
		what := fmt.Sprintf("peak memory, a million files in %d folders", folders)
		fmt.Printf("%-44s %7d KiB %28s\n", what, c.peak>>10, "under 32 MiB")
	}
	return nil
}

// grow makes a tree of empty files. A tree that is still there means that the
// program before did nothing, and all numbers would be wrong.
func grow(tree string, folders, files int) error {
	if _, err := os.Lstat(tree); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%q was not removed", tree)
	}
	for folder := range folders {
		path := filepath.Join(tree, fmt.Sprintf("folder-%05d", folder))
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
		for file := range files {
			fd, err := syscall.Open(fmt.Sprintf("%s/file-%06d", path, file), syscall.O_CREAT|syscall.O_WRONLY, 0o644)
			if err != nil {
				return err
			}
			if err := syscall.Close(fd); err != nil {
				return err
			}
		}
	}
	// What is written back now does not disturb the one that is measured.
	syscall.Sync()
	return nil
}
