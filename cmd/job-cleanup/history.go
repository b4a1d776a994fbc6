package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"job-cleanup/pkg/journal"
	"job-cleanup/pkg/outcome"
)

// historyOptions are what only history takes.
type historyOptions struct {
	since, until string
	results      []string
	owed, follow bool
	page         *string // the file of --html; nil without
	command      string  // instead of journalctl; for tests
}

func historyVerb() *verb {
	var h historyOptions
	return &verb{
		name:  "history",
		args:  "[UNIT]",
		short: "past cleanups, from the journal",
		long: "Lists the cleanups that the journal knows, oldest first: when, of which job, how that ended, what became of its residue, " +
			"how long it took. --invocation shows all records of one job. " +
			"Only what root or the unit itself logged is believed, and what the caller logged.",
		max: 1,
		options: func(fs *pflag.FlagSet, o *options) {
			fs.StringVar(&o.invocation, "invocation", "", "show all records of the job with this invocation `ID`")
			fs.BoolVar(&o.user, "user", false, "only the caller's own records")
			fs.StringVar(&h.since, "since", "", "from this `TIME` on, as journalctl takes it: '-2h', yesterday")
			fs.StringVar(&h.until, "until", "", "up to this `TIME`")
			fs.StringSliceVar(&h.results, "result", nil, "only jobs that ended with one of these `WORD`s, failure for all bad ones")
			fs.BoolVar(&h.owed, "owed", false, "only cleanups that left something owed")
			fs.BoolVar(&h.follow, "follow", false, "go on as cleanups happen")
			fs.BoolVar(&o.json, "json", false, "print one JSON object a line")
			fs.Func("html", "write one page with a timeline to `FILE`, - for standard output", func(file string) error {
				h.page = &file
				return nil
			})
		},
		run: func(ctx context.Context, p *program, o *options) (int, error) { return runHistory(ctx, p, o, h) },
	}
}

// pastRun is one cleanup, as history --json prints it.
type pastRun struct {
	Time       time.Time             `json:"time"` // when the cleanup was over
	Unit       string                `json:"unit"`
	Invocation string                `json:"invocation"`
	Outcome    outcome.Outcome       `json:"outcome"`
	Counts     map[journal.Event]int `json:"counts"` // by status: removed, absent, owed, …
	Duration   time.Duration         `json:"duration_ns"`
}

func runHistory(ctx context.Context, p *program, o *options, h historyOptions) (int, error) {
	if err := h.checkPage(o); err != nil {
		return 0, err
	}
	ctx, drain, stop := p.untilSignal(ctx)
	defer stop()
	unit := ""
	if len(o.args) > 0 {
		unit = o.args[0]
		if err := outcome.CheckUnitName(serviceName(unit)); err != nil {
			return 0, wrongUnit(err)
		}
	}
	reader := journal.Reader{Command: h.command, User: o.user}
	if p.uid == 0 && !h.follow {
		flush(ctx, reader)
	}
	records := p.believed(reader.Read(ctx, h.arguments(unit, o.invocation)...))
	var err error
	switch {
	case h.page != nil:
		return exitDone, p.writePage(records, o, h)
	case o.invocation != "":
		err = p.printRecords(records, o.json)
	case o.json:
		err = p.printRunsJSON(h.runs(records))
	default:
		err = p.printRuns(h.runs(records), h.follow)
	}
	if err != nil && stopped(drain) {
		err = nil // that is how following ends
	}
	return exitDone, err
}

// flush lets the newest records be found. A journal that does not answer keeps
// nobody from the older ones.
func flush(ctx context.Context, reader journal.Reader) {
	ctx, cancel := context.WithTimeout(ctx, journalLimit)
	defer cancel()
	reader.Sync(ctx)
}

// untilSignal ends the context with the first signal: nothing is half done.
func (p *program) untilSignal(ctx context.Context) (context.Context, <-chan struct{}, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	drain := make(chan struct{})
	go func() {
		select {
		case <-p.signals:
			close(drain)
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, drain, cancel
}

// arguments are those of journalctl. A job without a unit goes by a bare word,
// so a name without a suffix may be either.
func (h historyOptions) arguments(unit, invocation string) []string {
	var args []string
	add := func(option, value string) {
		if value != "" {
			args = append(args, option+"="+value)
		}
	}
	add("--since", h.since)
	add("--until", h.until)
	if h.follow {
		args = append(args, "--follow", "--no-tail")
	}
	if unit != "" {
		add("JOB_CLEANUP_UNIT", unit)
		if full := serviceName(unit); full != unit {
			add("JOB_CLEANUP_UNIT", full)
		}
	}
	if invocation != "" {
		add("JOB_CLEANUP_INVOCATION", outcome.FileName(invocation))
	}
	switch {
	case h.page != nil:
		args = append(args, pageRecords()...)
	case invocation == "":
		add("MESSAGE_ID", journal.Summary.MessageID())
	}
	return args
}

// believed drops what anybody could have logged. A user other than root
// believes what is their own too.
func (p *program) believed(records iter.Seq2[journal.Entry, error]) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		for e, err := range records {
			if err == nil && !e.Trusted() && (p.uid == 0 || !e.TrustedUser(uint32(p.uid))) {
				continue
			}
			if err != nil {
				err = unreadJournal(err)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// runs are the cleanups among the records that are asked for.
func (h historyOptions) runs(records iter.Seq2[journal.Entry, error]) iter.Seq2[pastRun, error] {
	return func(yield func(pastRun, error) bool) {
		for e, err := range records {
			if err != nil {
				yield(pastRun{}, err)
				return
			}
			if e.Event != journal.Summary || h.owed && e.Counts[journal.Owed] == 0 || !outcome.Matches(h.results, e.Outcome) {
				continue
			}
			if !yield(pastRun{e.Time, e.Unit, e.Invocation, e.Outcome, e.Counts, e.Duration}, nil) {
				return
			}
		}
	}
}

const historyHead = "WHEN\tJOB\tENDING\tREMOVED\tABSENT\tOWED\tREFUSED\tTOOK\tINVOCATION"

// printRuns prints a table; an empty one is one line, so that silence is not
// taken for an answer. Who follows gets each line at once.
func (p *program) printRuns(runs iter.Seq2[pastRun, error], follow bool) error {
	table := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	none := true
	for r, err := range runs {
		if err != nil {
			_ = table.Flush()
			return err
		}
		if none {
			fmt.Fprintln(table, historyHead)
		}
		none = false
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%v\t%s\n", stamp(r.Time), cell(r.Unit), cell(endingText(r.Outcome)),
			r.Counts[journal.Removed], r.Counts[journal.Absent], r.Counts[journal.Owed], r.Counts[journal.Refused], r.Duration.Round(time.Millisecond), cell(r.Invocation))
		if follow {
			if err := table.Flush(); err != nil {
				return err
			}
		}
	}
	if none {
		p.hint("journalctl keeps what it has room for; --since and UNIT narrow what is shown")
		_, err := fmt.Fprintln(p.stdout, "No cleanup is known.")
		return err
	}
	return table.Flush()
}

// cell is text for one column: a tab in it would begin the next.
func cell(text string) string { return strings.ReplaceAll(journal.Escape(text), "\t", `\x09`) }

func (p *program) printRunsJSON(runs iter.Seq2[pastRun, error]) error {
	out := json.NewEncoder(p.stdout)
	for r, err := range runs {
		if err != nil {
			return err
		}
		if err := out.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// printRecords prints all that is known of one job, in order.
func (p *program) printRecords(records iter.Seq2[journal.Entry, error], asJSON bool) error {
	none, out := true, json.NewEncoder(p.stdout)
	for e, err := range records {
		if err != nil {
			return err
		}
		none = false
		if asJSON {
			err = out.Encode(e.Record.Fields())
		} else {
			_, err = fmt.Fprintf(p.stdout, "%s  %s\n", stamp(e.Time), strings.TrimSpace(journal.Escape(e.Message)))
		}
		if err != nil {
			return err
		}
	}
	if none {
		p.hint("job-cleanup history lists the invocations that are known")
		_, err := fmt.Fprintln(p.stdout, "No record is known.")
		return err
	}
	return nil
}
