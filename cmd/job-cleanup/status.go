package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"job-cleanup/pkg/journal"
	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/outcome"
	"job-cleanup/pkg/residue"
)

func statusVerb() *verb {
	return &verb{
		name:  "status",
		args:  "[UNIT]",
		short: "what is owed now, and why",
		long: "Lists what the ledgers say is owed: how old, how often tried, the last reason. " +
			"What was tried ten times is called stuck: a person should look, and it is still tried. " +
			"As root it also has each job's own ledger read, by a process with that job's rights.",
		max: 1,
		options: func(fs *pflag.FlagSet, o *options) {
			fs.BoolVar(&o.json, "json", false, "print one JSON object a line")
			fs.StringVar(&o.stateDir, "state-dir", "", "read the ledgers below `DIR`")
		},
		run: runStatus,
	}
}

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

func runStatus(ctx context.Context, p *program, o *options) (int, error) {
	s, err := p.site(o)
	if err != nil {
		return 0, err
	}
	defer s.close()
	units, err := unitsMeant(o.args)
	if err != nil {
		return 0, err
	}
	var lines []debtLine
	for _, unit := range units {
		for _, store := range s.stores() {
			found, err := s.debts(ctx, store, unit)
			if err != nil {
				return 0, err
			}
			lines = append(lines, found...)
		}
		switch {
		case s.uid == 0:
			lines = append(lines, s.jobDebts(ctx, unit)...)
		case o.stateDir == "":
			lines = append(lines, s.givenDebts(ctx, unit)...)
		}
	}
	if s.uid != 0 && o.stateDir == "" {
		s.hint("these are your own ledgers; root sees those of all jobs")
	}
	if o.json {
		return exitDone, p.printJSON(lines)
	}
	return exitDone, p.printDebts(lines)
}

// unitsMeant are the units that an argument may mean, "" without one for all. A
// job without a unit goes by a bare word, so a name without a suffix may be
// either.
func unitsMeant(args []string) ([]string, error) {
	if len(args) == 0 {
		return []string{""}, nil
	}
	full := serviceName(args[0])
	if err := outcome.CheckUnitName(full); err != nil {
		return nil, wrongUnit(err)
	}
	if full != args[0] {
		return []string{full, args[0]}, nil
	}
	return []string{full}, nil
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

func (p *program) printJSON(lines []debtLine) error {
	out := json.NewEncoder(p.stdout)
	for _, line := range lines {
		if err := out.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

// printDebts prints a table; an empty one is one line, so that silence is not
// taken for an answer.
func (p *program) printDebts(lines []debtLine) error {
	if len(lines) == 0 {
		_, err := fmt.Fprintln(p.stdout, "Nothing is owed.")
		return err
	}
	table := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "UNIT\tKIND\tAGE\tTRIED\tREASON\tREF")
	for _, l := range lines {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", journal.Escape(l.Unit), journal.Escape(l.Kind), age(l.Since),
			l.tried(), journal.Escape(string(l.Reason)), journal.Escape(l.Ref))
	}
	return table.Flush()
}

// tried is how often it was, and whether that is too often.
func (l debtLine) tried() string {
	if l.Stuck {
		return fmt.Sprintf("%d, stuck", l.Attempts)
	}
	return strconv.Itoa(l.Attempts)
}

// age is how long ago something was, to the precision people care about.
func age(since time.Time) string {
	if since.IsZero() {
		return "-"
	}
	switch d := time.Since(since); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dmin", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
}
