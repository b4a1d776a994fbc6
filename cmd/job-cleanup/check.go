package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"job-cleanup/pkg/journal"
	"job-cleanup/pkg/plan"
	"job-cleanup/pkg/unitfile"
)

func checkVerb() *verb {
	v := &verb{
		name:  "check",
		args:  "[UNIT|FILE]...",
		short: "what is wrong with plans and their wiring, and the fix",
		long: "Checks units by name or file, or a file of [X-Cleanup] sections alone. Without an argument, every loaded " +
			"service that has a plan or a hook. Each fault is told with its place and what to write instead. " +
			"A variable that only the job has is no fault. Exits 1 when there is an error; warnings do not count.",
		max: maxChecked,
	}
	all := false
	v.options = func(fs *pflag.FlagSet, o *options) {
		fs.BoolVar(&all, "all", false, "also list the loaded oneshots that have no cleanup at all")
		fs.BoolVar(&o.user, "user", false, "the units belong to the caller's user manager")
		fs.BoolVar(&o.json, "json", false, "print one JSON object a line")
	}
	v.run = func(ctx context.Context, p *program, o *options) (int, error) {
		return runCheck(ctx, p, o, all)
	}
	return v
}

// maxChecked is how many units one command line may name.
const maxChecked = 1 << 16

// finding is a fault as check prints it.
type finding struct {
	Unit string `json:"unit"`
	unitfile.Finding
}

// note is the severity of what is no fault by itself; see bare.
const note unitfile.Severity = "note"

func runCheck(ctx context.Context, p *program, o *options, all bool) (int, error) {
	o.dry = true
	s := p.site(o)
	defer s.close()
	if all && len(o.args) > 0 {
		return 0, usagef("job-cleanup check --all, or the names without it", "--all takes no argument")
	}
	subjects, err := s.checked(ctx)
	if err != nil {
		return 0, err
	}
	var found []finding
	planned := 0
	for _, sub := range subjects {
		switch {
		case len(o.args) > 0 || len(unitfile.Hooks(sub.unit)) > 0 || hasPlan(sub.unit):
			planned++
			more, err := s.check(sub)
			if err != nil {
				return 0, err
			}
			found = append(found, more...)
		case all && sub.unit.Last("Service", "Type") == "oneshot":
			found = append(found, bare(sub.unit))
		}
	}
	if len(o.args) == 0 && planned > 0 {
		found = append(found, s.unswept(ctx)...)
	}
	if o.json {
		err = p.printFindingsJSON(found)
	} else {
		err = p.printFindings(found, planned)
	}
	if slices.ContainsFunc(found, func(f finding) bool { return f.Severity == unitfile.Err }) {
		return exitOwed, err
	}
	return exitDone, err
}

// bare is the note of a oneshot that nothing cleans up after.
func bare(u *unitfile.Unit) finding {
	return finding{u.Name, unitfile.Finding{
		Check: "no-cleanup", Severity: note, File: u.Fragment,
		Text: "no cleanup at all",
		Fix:  "if it leaves something: job-cleanup generate dropin " + u.Name,
	}}
}

func hasPlan(u *unitfile.Unit) bool {
	return slices.ContainsFunc(u.Cleanup(), func(s unitfile.Section) bool {
		return strings.HasPrefix(strings.ToLower(s.Name), "x-cleanup")
	})
}

// check finds the faults of one unit: those of its plan, as it compiles before
// the job, and those around it.
func (s *site) check(sub *subject) ([]finding, error) {
	compiled, err := s.compile(sub, true)
	if err != nil {
		return nil, err
	}
	var found []finding
	for _, p := range compiled.Problems {
		if !p.Deferred {
			found = append(found, finding{sub.unit.Name, planFinding(p)})
		}
	}
	facts := unitfile.Facts{Unit: sub.unit, Specs: compiled.Specs, Timeout: compiled.Settings.Timeout, Strict: compiled.Settings.Strict}
	for _, f := range unitfile.Check(facts) {
		found = append(found, finding{sub.unit.Name, f})
	}
	return found, nil
}

// planFinding is a problem of a plan as a fault. A setting that is ignored
// leaves the steps as they are.
func planFinding(p plan.Problem) unitfile.Finding {
	f := unitfile.Finding{Check: "plan", Severity: unitfile.Err, File: p.File, Line: p.Line, Text: p.Text, Fix: p.Hint}
	if p.Step == "" {
		f.Severity = unitfile.Warn
	}
	return f
}

// printFindings prints one fault after the other as compilers do, so that
// editors find the place; then how many there are.
func (p *program) printFindings(found []finding, planned int) error {
	count := map[unitfile.Severity]int{}
	for _, f := range found {
		count[f.Severity]++
		place := f.File
		if f.Line > 0 {
			place = fmt.Sprintf("%s:%d", f.File, f.Line)
		}
		fmt.Fprintf(p.stdout, "%s: %s: %s [%s]\n", journal.Escape(place), f.Severity, journal.Escape(f.Text), f.Check)
		if f.Fix != "" {
			fmt.Fprint(p.stdout, hang("  fix: ", journal.Escape(f.Fix)))
		}
	}
	text := fmt.Sprintf("%s checked: %s, %s", counted(planned, "plan"), counted(count[unitfile.Err], "error"), counted(count[unitfile.Warn], "warning"))
	if count[note] > 0 {
		text += "; " + counted(count[note], "oneshot") + " without any cleanup"
	}
	_, err := fmt.Fprintln(p.stdout, text)
	return err
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func (p *program) printFindingsJSON(found []finding) error {
	out := json.NewEncoder(p.stdout)
	for _, f := range found {
		if err := out.Encode(f); err != nil {
			return err
		}
	}
	return nil
}

// isFile reports whether an argument names a file: a unit's name has no slash.
func isFile(arg string) bool {
	return strings.Contains(arg, "/") || filepath.Ext(arg) == ".conf"
}
