package main

import (
	"errors"
	"os"
	"slices"
	"strconv"

	"job-cleanup/pkg/expand"
	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/manager"
	"job-cleanup/pkg/plan"
	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/unitfile"
)

// compile reads and compiles the plan: the unit's sections, or those of
// --plan, and the steps of the command line.
func (s *site) compile(sub *subject, early bool) (*plan.Plan, error) {
	sections, problems, err := s.sections(sub)
	if err != nil {
		return nil, err
	}
	compiled := plan.Compile(sections, plan.Context{
		Registry: kinds(), Specifiers: s.specifiers(sub), Env: s.env.lookup, Early: early,
	})
	for _, p := range problems {
		problem := plan.Problem{File: p.File, Line: p.Line, Text: p.Text, Hint: p.Hint, Reason: residue.Other}
		if !slices.ContainsFunc(compiled.Problems, func(q plan.Problem) bool { return source(q) == source(problem) }) {
			compiled.Problems = append(compiled.Problems, problem)
		}
	}
	return compiled, nil
}

func (s *site) sections(sub *subject) ([]unitfile.Section, []unitfile.Problem, error) {
	var sections []unitfile.Section
	var problems []unitfile.Problem
	switch {
	case s.opts.plan != "":
		text, err := os.ReadFile(s.opts.plan)
		if err != nil && sub.job.Armed { // the job may have removed it; what was armed is known
			s.trouble("read plan", err)
			break
		}
		if err != nil {
			return nil, nil, usagef("--plan takes a file of [X-Cleanup.KIND] sections", "read plan: %v", err)
		}
		sections, problems = unitfile.Parse(s.opts.plan, text)
		sections = unitfile.Cleanup(sections)
	case sub.unit != nil:
		sections, problems = sub.unit.Cleanup(), sub.unit.Problems
	}
	for _, text := range s.opts.steps {
		step, err := plan.ParseStep(text)
		if err != nil {
			return nil, nil, stepError(err)
		}
		sections = append(sections, step)
	}
	return sections, problems, nil
}

func stepError(err error) error {
	var p plan.Problem
	if errors.As(err, &p) {
		return usagef(p.Hint, "%v", p)
	}
	return err
}

// specifiers are what %i and the like mean for the job.
func (s *site) specifiers(sub *subject) expand.Specifiers {
	unit := sub.identity.Unit
	specs := expand.ForSystem(unit)
	if sub.job.UserBus || s.uid != 0 && unit == "" {
		specs = expand.ForUser(unit, s.env["USER"], uint32(s.uid), s.env["HOME"], s.env.lookup)
	}
	specs.Host, _ = os.Hostname()
	specs.MachineID, _ = manager.MachineID("/")
	specs.BootID = sub.job.Boot
	return specs
}

// deferred keeps of a plan what had to wait when the job was armed, and the
// mistakes of steps that were not recorded then. What was recorded counts.
func deferred(p *plan.Plan, armed *ledger.State) *plan.Plan {
	kept := &plan.Plan{Settings: p.Settings}
	steps := armed.Job.Deferred
	for _, spec := range p.Specs {
		if slices.Contains(steps, spec.Name) {
			kept.Specs = append(kept.Specs, spec)
		}
	}
	for _, skip := range p.Skips {
		if slices.Contains(steps, skip.Step) {
			kept.Skips = append(kept.Skips, skip)
		}
	}
	for _, problem := range p.Problems {
		recorded := func(a *ledger.Account) bool { return a.Spec.Name == problem.Step }
		if problem.Step == "" || slices.Contains(steps, problem.Step) || !slices.ContainsFunc(armed.Accounts, recorded) {
			kept.Problems = append(kept.Problems, problem)
		}
	}
	return kept
}

// hintUnset tells a person why a variable that the unit sets has no value.
func (s *site) hintUnset(sub *subject, p *plan.Plan) {
	unset := func(q plan.Problem) bool { return q.Reason == residue.Unset }
	if sub.byHand() && slices.ContainsFunc(p.Problems, unset) {
		s.hint("only the hook has the variables of Environment= and EnvironmentFile=; set them here too")
	}
}

// source is a problem's position as records show it.
func source(p plan.Problem) string {
	if p.Line == 0 {
		return p.File
	}
	return p.File + ":" + strconv.Itoa(p.Line)
}
