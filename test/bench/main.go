//go:build linux

// Command bench measures what the program costs against a peer that does the
// same in the same run, and prints ratios: only those carry over from one
// machine to another. It mounts what it needs in a mount namespace of its own,
// so it needs root, and removes all it made.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run starts itself again in a mount namespace and measures there. Mounts go
// with the namespace, also when it is killed.
func run(args []string) error {
	if len(args) >= 2 && args[0] == "measure" {
		return measure(args[1], slices.Contains(args[2:], "defer"))
	}
	if os.Getuid() != 0 {
		return errors.New("needs root to mount file systems")
	}
	folder, err := os.MkdirTemp("/var/tmp", "job-cleanup-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	inside := append([]string{"--mount", "--propagation", "private", self, "measure", folder}, args...)
	cmd := exec.Command("unshare", inside...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// measure builds the programs and runs all comparisons, or only those of
// removals that are put off.
func measure(folder string, onlyDefer bool) error {
	p := &programs{folder: folder}
	if err := p.build(); err != nil {
		return err
	}
	fmt.Printf("%-44s %10s %10s %7s  %s\n", "", "ours", "peer", "ratio", "wanted")
	if onlyDefer {
		return p.trees(p.deferral)
	}
	if err := p.start(); err != nil {
		return err
	}
	if err := p.sweepIdle(); err != nil {
		return err
	}
	if err := p.generator(); err != nil {
		return err
	}
	if err := p.servers(); err != nil {
		return err
	}
	if err := p.sweepLocks(); err != nil {
		return err
	}
	if err := p.trees(p.purge, p.deferral); err != nil {
		return err
	}
	return p.million(filepath.Join(folder, "tmpfs"))
}

// trees runs comparisons on each file system.
func (p *programs) trees(compare ...func(fileSystem, mount string) error) error {
	for _, fileSystem := range []string{"tmpfs", "ext4"} {
		mount := filepath.Join(p.folder, fileSystem)
		if err := mountNew(fileSystem, mount); err != nil {
			fmt.Printf("%s is left out: %v\n", fileSystem, err)
			continue
		}
		for _, c := range compare {
			if err := c(fileSystem, mount); err != nil {
				return err
			}
		}
	}
	return nil
}

// mountNew mounts an empty file system: tmpfs, or ext4 on a sparse file.
func mountNew(fileSystem, folder string) error {
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	if fileSystem == "tmpfs" {
		return quiet("mount", "-t", "tmpfs", "-o", "size=90%,nr_inodes=0", "bench", folder)
	}
	image := folder + ".image"
	if err := quiet("truncate", "-s", "4G", image); err != nil {
		return err
	}
	if err := quiet("mkfs.ext4", "-q", "-F", "-N", "1500000", image); err != nil {
		return err
	}
	return quiet("mount", "-o", "loop", image, folder)
}

// quiet runs a command whose output matters only when it fails.
func quiet(name string, args ...string) error {
	if output, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, output)
	}
	return nil
}
