package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/outcome"
	"job-cleanup/pkg/residue"
)

// listLimit bounds the reading of one job's ledgers.
const listLimit = 10 * time.Second

// debtLine is one thing owed, as status --json prints it.
type debtLine struct {
	Unit       string         `json:"unit"`
	Invocation string         `json:"invocation"`
	Kind       string         `json:"kind"`
	Ref        string         `json:"ref"`
	Since      time.Time      `json:"since,omitzero"`
	Attempts   int            `json:"attempts"`
	Stuck      bool           `json:"stuck,omitempty"` // tried so often that a person should look
	Next       time.Time      `json:"next,omitzero"`   // no sweep tries it before
	Reason     residue.Reason `json:"reason,omitempty"`
	Message    string         `json:"message,omitempty"`
}

// stores are the ledgers the caller may read.
func (s *site) stores() []*ledger.Store {
	if s.uid == 0 {
		return []*ledger.Store{ledger.Root(s.shared, -1)}
	}
	if s.state == "" {
		return nil
	}
	return []*ledger.Store{ledger.Own(s.state)}
}

// debts lists what a store owes, of one unit or of all.
func (s *site) debts(ctx context.Context, store *ledger.Store, unit string) ([]debtLine, error) {
	var lines []debtLine
	entries := store.List(ctx)
	if unit != "" { // a job may look into its own folder, but not list all
		entries = store.Ledgers(ctx, unit)
	}
	for entry, err := range entries {
		if err != nil {
			s.trouble("", err)
			continue
		}
		if entry.Damaged > 0 {
			continue
		}
		led, err := store.Ledger(entry.Unit, entry.Invocation)
		if err != nil {
			return nil, err
		}
		state, err := led.Replay(ctx)
		if errors.Is(err, fs.ErrNotExist) {
			continue // settled meanwhile
		}
		if err != nil {
			s.trouble("", err)
			continue
		}
		lines = append(lines, s.explained(ctx, state)...)
	}
	return lines, nil
}

// Why something is owed that nobody tried to remove yet.
const (
	running   residue.Reason = "running"   // its time has not come
	unsettled residue.Reason = "unsettled" // the job is over, and its hook could not write here, if it ran
)

// explained are the debts of a ledger. Root can ask whether the job still runs.
func (s *site) explained(ctx context.Context, state *ledger.State) []debtLine {
	lines := debtLines(state)
	if s.uid != 0 || state.Recorded.IsZero() || !slices.ContainsFunc(lines, debtLine.untried) {
		return lines
	}
	why := running
	if over, _ := state.Over(s.probe(ctx)); over {
		why = unsettled
	}
	for i := range lines {
		if lines[i].untried() {
			lines[i].Reason = why
		}
	}
	return lines
}

// untried reports whether nothing tells why it is owed.
func (l debtLine) untried() bool { return l.Attempts == 0 && l.Reason == "" }

// givenDebts lists, for a plain user, what stands in the folder that arm gave
// to the unit: the one named, else the one we stand in.
func (s *site) givenDebts(ctx context.Context, unit string) []debtLine {
	if unit == "" {
		cgroup, _ := os.ReadFile("/proc/self/cgroup")
		unit = outcome.ParseCgroup(string(cgroup)).Unit
	}
	if unit == "" || !s.given(unit) {
		return nil
	}
	lines, err := s.debts(ctx, ledger.Jobs(s.shared), unit)
	if err != nil {
		s.trouble("", err)
	}
	return lines
}

// jobDebts lists what jobs wrote into ledgers of their own, as root.
func (s *site) jobDebts(ctx context.Context, unit string) []debtLine {
	var lines []debtLine
	for folder, err := range ledger.Jobs(s.shared).Units(ctx) {
		if err != nil || folder.UID == 0 || unit != "" && folder.Unit != unit {
			continue
		}
		j := &jobProcess{exe: self, order: order{State: s.shared, Total: listLimit, List: true}}
		j.order.Job.Unit = folder.Unit
		if err := j.run(ctx, nil, residue.Identity{UID: folder.UID, GID: folder.GID}); err != nil {
			s.trouble("the ledgers of "+folder.Unit+"'s job", err)
		}
		lines = append(lines, j.debts...)
	}
	return lines
}

func debtLines(state *ledger.State) []debtLine {
	var lines []debtLine
	for _, debt := range state.Owed() {
		line := debtLine{
			Unit: state.Job.Unit, Invocation: state.Job.Invocation, Kind: debt.Spec.Kind, Ref: debt.Spec.Value,
			Since: debt.Since, Attempts: debt.Attempts, Reason: debt.Reason, Message: debt.Message,
			Stuck: stuck(debt), Next: debt.Next,
		}
		if debt.Residue != nil {
			line.Ref = debt.Residue.Ref
		}
		lines = append(lines, line)
	}
	if len(state.Damage) > 0 {
		first := state.Damage[0]
		lines = append(lines, debtLine{
			Unit: state.Job.Unit, Invocation: state.Job.Invocation, Kind: "unknown",
			Ref: fmt.Sprintf("what stood in line %d of its ledger, which can't be read: %s", first.Line, first.Why),
		})
	}
	for range state.Unknown {
		lines = append(lines, debtLine{
			Unit: state.Job.Unit, Invocation: state.Job.Invocation, Kind: "unknown",
			Ref: "a record of another version of job-cleanup",
		})
	}
	return lines
}
