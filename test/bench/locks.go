//go:build linux

package main

import (
	"fmt"
	"path/filepath"
)

// sweepLocks measures a sweep that releases very many locks of a Redis server,
// owed by many jobs that are over, against a client that does nothing but
// release them one after the other, and against redis-cli in a shell.
func (p *programs) sweepLocks() error {
	const locks = 2000 // as test/bench/locks makes
	w, err := p.startWorld("locks")
	if err != nil {
		fmt.Printf("the locks are left out: %v\n", err)
		return nil
	}
	defer w.stop()
	sweep := []string{p.ours, "sweep", "--state-dir", filepath.Join(w.folder, "state"), "--runtime-dir", filepath.Join(w.folder, "run")}
	ours, loop, _, err := rounds(5, w.prepare, sweep, []string{filepath.Join(p.folder, "locks"), "release", w.folder})
	if err != nil {
		return err
	}
	if err := w.prepare(); err != nil { // also checks that the last round released all
		return err
	}
	shell, err := once([]string{filepath.Join(w.folder, "hook")})
	if err != nil {
		return err
	}
	report("sweep of 2,000 Redis locks : client loop", ours, loop, "as it is")
	report("sweep of 2,000 Redis locks : redis-cli, shell", ours, shell.wall, "at least 5x")
	fmt.Printf("%-44s %7.0f /s %7.0f /s %7.0f /s\n", "  residues in a second: ours, loop, shell",
		locks/ours.Seconds(), locks/loop.Seconds(), locks/shell.wall.Seconds())
	return nil
}
