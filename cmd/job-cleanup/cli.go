package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"
)

// program is what the process was started with.
type program struct {
	args           []string
	env            environment
	stdin          io.Reader
	stdout, stderr io.Writer
	signals        <-chan os.Signal
	uid, gid, pid  int       // effective
	progress       *progress // of long work; nil where nobody is told
}

// verb is one word of the command line. Each has a file of its own.
type verb struct {
	name    string
	args    string // of the usage line: "[UNIT]"
	short   string // one line for the list of verbs
	long    string // what is true of it
	max     int    // positional arguments it takes at most
	hidden  bool   // not for people
	forgive bool   // never exits with more than 0: it must not keep a job from starting
	options func(*pflag.FlagSet, *options)
	run     func(context.Context, *program, *options) (int, error)
}

// options are the options of all verbs; each verb registers those it knows.
type options struct {
	unit, invocation string
	user             bool
	plan             string
	steps            []string
	stateDir         string
	runtimeDir       string
	logFile          string
	metricsFile      string
	timeout          string
	result           string // how the job ended, where no manager tells
	strict           bool
	skip, only       []string
	json             bool
	dry              bool // set by plan: nothing is changed or recorded
	force            bool
	forget           string
	boot, eager      bool                 // of sweep
	extra            map[string]*[]string // of track: the kinds' keys as options
	args             []string
}

// verbs lists every verb, in the order of the help.
func verbs() []*verb {
	return []*verb{
		runVerb(), armVerb(), trackVerb(), sweepVerb(), planVerb(), statusVerb(), checkVerb(), generateVerb(), execVerb(), historyVerb(), versionVerb(), childVerb(), cleanerVerb(),
	}
}

// usageError is a mistake on the command line, with a hint.
type usageError struct{ text, hint string }

func (e usageError) Error() string { return e.text }

// Hint says what to write instead.
func (e usageError) Hint() string { return e.hint }

func usagef(hint, format string, args ...any) error {
	return usageError{text: fmt.Sprintf(format, args...), hint: hint}
}

// run carries out the command line and returns the exit code.
func (p *program) run(ctx context.Context) int {
	v, rest, err := p.verb()
	if err != nil {
		return p.failed(nil, err)
	}
	if v == nil {
		return p.help(rest)
	}
	opts, err := v.parse(rest)
	if errors.Is(err, pflag.ErrHelp) {
		return p.verbHelp(v)
	}
	if err != nil {
		return p.failed(v, err)
	}
	code, err := v.run(ctx, p, opts)
	if err != nil {
		return p.failed(v, err)
	}
	return code
}

// verb picks the verb and its arguments; nil means help. Without one, and
// with SERVICE_RESULT set, it is run: a unit may say just the program's name.
func (p *program) verb() (*verb, []string, error) {
	first := ""
	if len(p.args) > 0 {
		first = p.args[0]
	}
	if _, hook := p.env["SERVICE_RESULT"]; hook && (first == "" || isOption(first)) {
		return runVerb(), p.args, nil
	}
	switch first {
	case "", "help", "-h", "--help":
		return nil, p.args[min(1, len(p.args)):], nil
	case "--version":
		return versionVerb(), nil, nil
	}
	if v := findVerb(first); v != nil {
		return v, p.args[1:], nil
	}
	if isOption(first) {
		return nil, nil, usagef("say the verb first: job-cleanup run "+first, "no verb before option %q", first)
	}
	return nil, nil, usagef(nearestVerb(first), "unknown verb %q", first)
}

func isOption(arg string) bool {
	return strings.HasPrefix(arg, "-") && arg != "-h" && arg != "--help" && arg != "--version"
}

func findVerb(name string) *verb {
	for _, v := range verbs() {
		if v.name == name {
			return v
		}
	}
	return nil
}

// flags makes the verb's set of options.
func (v *verb) flags(o *options) *pflag.FlagSet {
	fs := pflag.NewFlagSet(v.name, pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.SortFlags = false
	fs.Usage = func() {}
	if v.options != nil {
		v.options(fs, o)
	}
	return fs
}

func (v *verb) parse(args []string) (*options, error) {
	o := &options{}
	fs := v.flags(o)
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return nil, err
		}
		return nil, usagef("job-cleanup "+v.name+" --help lists the options", "%v", err)
	}
	o.args = fs.Args()
	if len(o.args) > v.max {
		return nil, usagef("job-cleanup "+v.name+" --help", "unexpected argument %q", o.args[v.max])
	}
	return o, nil
}

// whichJob registers the options that say which job is meant.
func whichJob(fs *pflag.FlagSet, o *options) {
	fs.StringVar(&o.unit, "unit", "", "the job's `UNIT`, instead of finding out")
	fs.StringVar(&o.invocation, "invocation", "", "the job's invocation `ID`, instead of finding out")
	fs.BoolVar(&o.user, "user", false, "the unit belongs to the caller's user manager")
}

// whichSteps registers the options that say what is to be cleaned.
func whichSteps(fs *pflag.FlagSet, o *options) {
	fs.StringVar(&o.plan, "plan", "", "read the [X-Cleanup] sections of `FILE` instead of the unit's")
	fs.StringArrayVar(&o.steps, "step", nil, "a step in one `LINE`: 'Path Remove=/var/tmp/batch-%i'")
	fs.StringSliceVar(&o.skip, "skip", nil, "leave out steps of this `NAME` or kind")
	fs.StringSliceVar(&o.only, "only", nil, "take only steps of this `NAME` or kind")
}

// whichMetrics registers the option of the verbs that remove things.
func whichMetrics(fs *pflag.FlagSet, o *options) {
	fs.StringVar(&o.metricsFile, "metrics-file", "", "keep `FILE` for node_exporter's textfile collector")
}

// whichFolders registers the options for where records are kept.
func whichFolders(fs *pflag.FlagSet, o *options) {
	fs.StringVar(&o.stateDir, "state-dir", "", "keep the ledgers below `DIR`")
	fs.StringVar(&o.runtimeDir, "runtime-dir", "", "keep stashed secrets below `DIR`")
	fs.StringVar(&o.logFile, "log-file", "", "append the journal's records to `FILE` as JSON lines")
}
