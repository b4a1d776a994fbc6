package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"job-cleanup/pkg/journal"
	"job-cleanup/pkg/outcome"
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

func runStatus(ctx context.Context, p *program, o *options) (int, error) {
	s := p.site(o)
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
