//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/residue"
)

// sweepIdle measures a sweep over very many ledgers in which nothing is due,
// next to a find that looks at the same files.
func (p *programs) sweepIdle() error {
	const ledgers = 10_000
	state := filepath.Join(p.folder, "swept")
	if err := fillLedgers(state, ledgers); err != nil {
		return err
	}
	sweep := []string{p.ours, "sweep", "--state-dir", state}
	first, err := once(sweep) // reads them all, and marks them
	if err != nil {
		return err
	}
	nothing := func() error { return nil }
	ours, find, _, err := rounds(21, nothing, sweep, []string{"find", state, "-type", "f", "-printf", "%s %t\n"})
	if err != nil {
		return err
	}
	report("sweep of 10,000 ledgers, nothing due : find", ours, find, "as it is")
	fmt.Printf("%-44s %7d ms\n", "its first time, which reads them", first.wall.Milliseconds())
	return nil
}

// fillLedgers makes ledgers of jobs that are over and owe what was tried just
// now, without the wait for the disk that a real one has.
func fillLedgers(state string, n int) error {
	spare := filepath.Join(state, "spare")
	store := ledger.Own(spare)
	l, err := store.Ledger("u.service", "one")
	if err != nil {
		return err
	}
	spec := residue.Spec{Kind: "path", Selector: "Remove", Value: "/var/tmp/none", Phase: residue.Data}
	spec.Identify()
	attempt := ledger.Attempt(spec.ID, "", "owed", 3, residue.Errorf(residue.Retry, residue.Other, "no"))
	attempt.Next = time.Now().Add(time.Hour)
	if err := l.Append(context.Background(), ledger.NewJob(ledger.Job{Armed: true}), ledger.NewSpec(spec), attempt); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(spare, "u.service/one.jsonl"))
	if err != nil {
		return err
	}
	if err := os.RemoveAll(spare); err != nil {
		return err
	}
	parent := state
	if os.Getuid() == 0 {
		parent = filepath.Join(state, "root")
	}
	for i := range n {
		folder := filepath.Join(parent, fmt.Sprintf("u-%d.service", i/10))
		if err := os.MkdirAll(folder, 0o750); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%032x.jsonl", i)), text, 0o640); err != nil {
			return err
		}
	}
	return nil
}
