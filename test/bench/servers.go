//go:build linux

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// servers measures four kinds of residue on four servers, removed by one run,
// against the usual shell hook.
func (p *programs) servers() error {
	w, err := p.startWorld("world")
	if err != nil {
		fmt.Printf("the servers are left out: %v\n", err)
		return nil
	}
	defer w.stop()
	ours := []string{
		p.ours, "run", "--state-dir", filepath.Join(p.folder, "state"), "--invocation", w.job,
		"--plan", filepath.Join(w.folder, "plan"), "--strict",
	}
	var costs [2][]cost
	for range 11 {
		for i, command := range [][]string{ours, {filepath.Join(w.folder, "hook")}} {
			if err := w.prepare(); err != nil {
				return err
			}
			c, err := once(command, "JOB="+w.job)
			if err != nil {
				return err
			}
			costs[i] = append(costs[i], c)
		}
	}
	if err := w.prepare(); err != nil { // the last one is checked, too
		return err
	}
	our, their := typical(costs[0]), typical(costs[1])
	const what = "token, object, rows, keys : shell hook"
	report(what, our.wall, their.wall, "at least 15x")
	report("  its CPU time", our.cpu, their.cpu, "at least 15x")
	fmt.Printf("%-44s %6d KiB %6d KiB %6.2fx  %s\n", "  its peak memory", our.peak>>10, their.peak>>10,
		float64(their.peak)/float64(our.peak), "at least 3x")
	return nil
}

// typical returns the medians of times and the highest peak.
func typical(costs []cost) cost {
	var walls, cpus []time.Duration
	var peak int64
	for _, c := range costs {
		walls, cpus, peak = append(walls, c.wall), append(cpus, c.cpu), max(peak, c.peak)
	}
	return cost{median(walls), median(cpus), peak}
}

// world is a process that has servers: see test/bench/world and test/bench/locks.
type world struct {
	folder, job string
	cmd         *exec.Cmd
	orders      io.WriteCloser
	answers     *bufio.Reader
	errors      bytes.Buffer
}

// startWorld starts the servers of a program and waits until they are ready.
func (p *programs) startWorld(name string) (*world, error) {
	binary := filepath.Join(p.folder, name)
	if err := quiet("go", "build", "-o", binary, "job-cleanup/test/bench/"+name); err != nil {
		return nil, err
	}
	w := &world{folder: binary + ".servers"}
	if err := os.Mkdir(w.folder, 0o700); err != nil {
		return nil, err
	}
	w.cmd = exec.Command(binary, w.folder)
	w.cmd.Stderr = &w.errors
	orders, err := w.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	answers, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.orders, w.answers = orders, bufio.NewReader(answers)
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	w.job, err = w.answer()
	return w, err
}

// answer reads a line. When there is none the world says why as it ends.
func (w *world) answer() (string, error) {
	line, err := w.answers.ReadString('\n')
	if err != nil {
		err = errors.Join(w.cmd.Wait(), errors.New(strings.TrimSpace(w.errors.String())))
	}
	return strings.TrimSpace(line), err
}

// prepare has the residue made again.
func (w *world) prepare() error {
	if _, err := io.WriteString(w.orders, "more\n"); err != nil {
		return err
	}
	_, err := w.answer()
	return err
}

// stop ends the servers.
func (w *world) stop() {
	w.orders.Close()
	_ = w.cmd.Wait() // how it ended does not matter any more
}
