//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// deferral measures a hook that puts a tree off (Defer=yes) against rm -rf of
// the same tree: the step by itself, as its own record tells it, and the whole
// process, which has to start and to write its ledger to the disk.
func (p *programs) deferral(fileSystem, mount string) error {
	tree := filepath.Join(mount, "tree")
	var hundred [2]time.Duration
	for _, shape := range []struct{ folders, files int }{{1000, 100}, {1, 100_000}} {
		rm, err := p.removal(tree, shape.folders, shape.files)
		if err != nil {
			return err
		}
		step, whole, err := p.putOff(mount, tree, shape.folders, shape.files)
		if err != nil {
			return err
		}
		hundred = [2]time.Duration{step, whole}
		what := fmt.Sprintf("%s, 100,000 files in %d folders put off : rm -rf", fileSystem, shape.folders)
		fmt.Println(what)
		report("  the step (DURATION_USEC of its record)", step, rm, "at least 100x")
		report("  the whole process", whole, rm, "as it is")
	}
	step, whole, err := p.putOff(mount, tree, 1, 1_000_000)
	if err != nil {
		return err
	}
	fmt.Printf("%s, 1,000,000 files in one folder put off : 100,000\n", fileSystem)
	report("  the step", step, hundred[0], "at least 0.67x")
	report("  the whole process", whole, hundred[1], "at least 0.67x")
	return nil
}

// removal is the median time that rm -rf takes for a tree.
func (p *programs) removal(tree string, folders, files int) (time.Duration, error) {
	var times []time.Duration
	for range 5 {
		if err := grow(tree, folders, files); err != nil {
			return 0, err
		}
		c, err := once([]string{"rm", "-rf", tree})
		if err != nil {
			return 0, err
		}
		times = append(times, c.wall)
	}
	return median(times), nil
}

// putOff has a tree put off over and over, which leaves it as it was but for
// its name, and returns the median times of the step and of the process.
func (p *programs) putOff(mount, tree string, folders, files int) (step, whole time.Duration, err error) {
	if err := grow(tree, folders, files); err != nil {
		return 0, 0, err
	}
	var steps, wholes []time.Duration
	for range 21 {
		log := filepath.Join(p.folder, "defer.log")
		state := filepath.Join(p.folder, "deferred")
		c, err := once([]string{
			p.ours, "run", "--state-dir", state, "--log-file", log, "--unit", "bench.service", "--invocation", "bench", "--force",
			"--step", "Path Defer=yes Remove=" + tree + " Within=" + mount,
		})
		if err != nil {
			return 0, 0, err
		}
		took, err := deferredIn(log)
		if err != nil {
			return 0, 0, err
		}
		steps, wholes = append(steps, took), append(wholes, c.wall)
		aside, err := filepath.Glob(filepath.Join(mount, ".job-cleanup~tree~*"))
		if err != nil || len(aside) != 1 {
			return 0, 0, fmt.Errorf("aside stand %q (%w)", aside, err)
		}
		if err := os.Rename(aside[0], tree); err != nil {
			return 0, 0, err
		}
		if err := os.RemoveAll(state); err != nil {
			return 0, 0, err
		}
		if err := os.Remove(log); err != nil {
			return 0, 0, err
		}
	}
	return median(steps), median(wholes), os.RemoveAll(tree)
}

// deferredIn is how long the step took by the log of its run.
func deferredIn(log string) (time.Duration, error) {
	file, err := os.Open(log)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var record map[string]any
		if err := json.Unmarshal(lines.Bytes(), &record); err != nil {
			return 0, err
		}
		if record["JOB_CLEANUP_REASON"] == "deferred" && record["JOB_CLEANUP_EVENT"] == "owed" {
			took, err := strconv.Atoi(fmt.Sprint(record["JOB_CLEANUP_DURATION_USEC"]))
			return time.Duration(took) * time.Microsecond, err
		}
	}
	return 0, fmt.Errorf("%s has no tree that was put off", log)
}
