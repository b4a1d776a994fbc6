package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"job-cleanup/pkg/plan"
	"job-cleanup/pkg/unitfile"
)

// installed is where a package puts the program, and what units name.
const installed = "/usr/bin/job-cleanup"

// making is what generate takes beside the options of all verbs.
type making struct {
	exec, runAs, description, calendar string
	output, binary, root               string
	kmsg                               bool
}

func generateVerb() *verb {
	m := &making{}
	return &verb{
		name:  "generate",
		args:  "unit|timer|dropin NAME",
		short: "write units, timers and drop-ins with the wiring",
		long: "generate unit NAME prints a hardened oneshot with its hooks; NAME may be a template, as batch@.service. " +
			"generate timer NAME prints a timer for that service. generate dropin UNIT prints what gives an existing unit its hooks. " +
			"generate generator NORMAL EARLY LATE is the systemd generator: every unit with an [X-Cleanup] section and no hook " +
			"gets its hooks below NORMAL; it always exits with 0.",
		max: 4,
		options: func(fs *pflag.FlagSet, o *options) {
			fs.StringVar(&m.exec, "exec", "", "of unit: the job's `COMMAND` line")
			fs.StringVar(&m.runAs, "run-as", "", "of unit: the job's `USER`, instead of root")
			fs.StringVar(&m.description, "description", "", "of unit: a `TEXT` for people")
			fs.StringArrayVar(&o.steps, "step", nil, "of unit: a step in one `LINE`: 'Path Remove=/var/tmp/batch-%i'")
			fs.StringVar(&m.calendar, "calendar", "", "of timer: `WHEN` it runs, as on OnCalendar=")
			fs.StringVar(&m.output, "output", "", "write the file into `DIR` instead of printing it")
			fs.StringVar(&m.binary, "binary", installed, "the `PATH` of job-cleanup that units name")
			fs.BoolVar(&o.user, "user", false, "the units belong to the caller's user manager")
			fs.StringVar(&m.root, "root", "", "of generator: look for units below `DIR`, as in an image")
			fs.BoolVar(&m.kmsg, "kmsg", false, "of generator: complain to the kernel's log, as there is no other yet")
		},
		run: func(ctx context.Context, p *program, o *options) (int, error) { return p.generate(ctx, o, m) },
	}
}

func (p *program) generate(ctx context.Context, o *options, m *making) (int, error) {
	what := append(o.args, "", "")[0]
	if what == "generator" {
		p.generator(o, m)
		return exitDone, nil
	}
	if len(o.args) != 2 {
		return 0, usagef("write generate unit, timer or dropin, and the unit's name", "generate takes what to write and one name")
	}
	name := serviceName(o.args[1])
	var file, text string
	var err error
	switch what {
	case "unit":
		file, text, err = p.newUnit(o, m, name)
	case "timer":
		file = strings.TrimSuffix(name, ".service") + ".timer"
		if m.calendar == "" {
			return 0, usagef("add --calendar daily, or another time of systemd.time(7)", "a timer needs to know when")
		}
		text, err = unitfile.Timer(name, m.calendar)
	case "dropin":
		file, text, err = p.newDropIn(ctx, o, m, name)
	default:
		return 0, usagef("write generate unit, timer or dropin", "can't generate %q", what)
	}
	if err != nil {
		return 0, err
	}
	return exitDone, p.deliver(m.output, file, text)
}

// newUnit makes a oneshot.
func (p *program) newUnit(o *options, m *making, name string) (file, text string, err error) {
	if m.exec == "" {
		return "", "", usagef("add --exec '/usr/local/bin/job --option'", "a unit needs a command line for its job")
	}
	t := unitfile.Template{Name: name, Binary: m.binary, Exec: m.exec, User: m.runAs, Description: m.description}
	for _, line := range o.steps {
		step, err := plan.ParseStep(line)
		if err != nil {
			return "", "", stepError(err)
		}
		t.Steps = append(t.Steps, step)
	}
	text, err = t.Service()
	return name, text, wrongUnit(err)
}

// newDropIn makes the wiring of a unit that exists.
func (p *program) newDropIn(ctx context.Context, o *options, m *making, name string) (file, text string, err error) {
	s := &site{program: p, opts: o}
	u, err := s.checkedUnit(ctx, name)
	if err != nil {
		return "", "", err
	}
	text, err = unitfile.WiringDropIn(u, m.binary)
	if errors.Is(err, unitfile.ErrWired) {
		return "", "", usagef("job-cleanup check "+name+" tells whether they are as they should be", "%v", err)
	}
	return filepath.Join(u.Name+".d", unitfile.WiringName), text, err
}

// deliver prints a file, or writes it into a folder where there is none of its
// name.
func (p *program) deliver(dir, file, text string) error {
	if dir == "" {
		_, err := fmt.Fprint(p.stdout, text)
		return err
	}
	path := filepath.Join(dir, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return usagef("remove it first, or write elsewhere", "%q is there already", path)
	}
	if err != nil {
		return err
	}
	if _, err := out.WriteString(text); err != nil {
		out.Close()
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	_, err = fmt.Fprintln(p.stdout, path)
	p.hint("systemctl daemon-reload makes the service manager read it")
	return err
}
