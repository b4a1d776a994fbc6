//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The tree that a generator reads: more units than any machine has, few of
// them with a plan.
const (
	unitFiles    = 5000
	plannedEvery = 250
)

// generator measures the systemd generator against grep over the same files:
// both have to read all of them, at every boot and reload.
func (p *programs) generator() error {
	image := filepath.Join(p.folder, "image")
	units := filepath.Join(image, "etc/systemd/system")
	out := filepath.Join(p.folder, "run/generator")
	if err := growUnits(units); err != nil {
		return err
	}
	// The manager gives it a folder below /run.
	if err := mountNew("tmpfs", filepath.Join(p.folder, "run")); err != nil {
		return err
	}
	empty := func() error {
		if err := os.RemoveAll(out); err != nil {
			return err
		}
		return os.Mkdir(out, 0o755)
	}
	ours, grep, _, err := rounds(21, empty,
		[]string{p.ours, "generate", "generator", "--root", image, out}, []string{"grep", "-rl", "X-Cleanup", units})
	if err != nil {
		return err
	}
	if err := empty(); err != nil {
		return err
	}
	if _, err := once([]string{p.ours, "generate", "generator", "--root", image, out}); err != nil {
		return err
	}
	if written, err := os.ReadDir(out); err != nil || len(written) != unitFiles/plannedEvery {
		return fmt.Errorf("the generator wrote %d drop-ins (%w)", len(written), err)
	}
	report("generator over 5,000 unit files : grep -l", ours, grep, "at least 0.5x")
	return os.RemoveAll(image)
}

// growUnits makes units of a usual length.
func growUnits(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	body := "[Unit]\nAfter=network.target\n\n[Service]\nType=oneshot\nExecStart=/usr/bin/true\n" +
		strings.Repeat("Environment=VARIABLE=some value\n", 25) + "\n[Install]\nWantedBy=multi-user.target\n"
	for i := range unitFiles {
		text := body
		if i%plannedEvery == 0 {
			text += "\n[X-Cleanup.Path]\nRemove=/var/tmp/%N\n"
		}
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("unit-%05d.service", i)), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
