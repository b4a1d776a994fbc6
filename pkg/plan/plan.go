package plan

import (
	"fmt"
	"time"

	"job-cleanup/pkg/expand"
	"job-cleanup/pkg/outcome"
	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/unitfile"
)

// Context is what a plan is compiled with.
type Context struct {
	Registry   *residue.Registry
	Specifiers expand.Specifiers
	Env        outcome.Lookup // the job's environment; nil: none, every ${…} is a problem

	// Early says that the job has not run yet and may still set variables: a
	// selector or option that needs an unset one, its default included, makes
	// a Deferred problem. Command lines are recorded unexpanded and can wait.
	Early bool
}

// Plan is what the sections say.
type Plan struct {
	Settings Settings
	Specs    []residue.Spec // in the order of the sections, then of the lines
	Skips    []Skip
	Problems []Problem
}

// Settings are the keys of [X-Cleanup].
type Settings struct {
	Timeout time.Duration // TimeoutSec=; 0: not set
	Strict  bool          // ExitPolicy=strict
	MaxJob  time.Duration // MaxJobSec=; expand.Infinity: no limit
}

// Skip is a step, or a spec of one, that is not to be done.
type Skip struct {
	Step   string // the step's name
	Kind   string
	Value  string // what the spec selects; empty: the whole step
	Source string // FILE:LINE, or "--step"
	Reason residue.Reason
	Text   string // why, for people: "Enabled=no"
}

// Problem is something wrong in a plan. It is an error.
type Problem struct {
	File     string
	Line     int    // from 1; 0: the file, or the option, as a whole
	Step     string // the step that is refused for it; empty: only a setting is ignored
	Kind     string // the step's kind; empty when it is unknown
	Text     string // what is wrong: short, lower case, without values of the environment
	Hint     string // what to do about it; may be empty
	Reason   residue.Reason
	Deferred bool // only of an Early compilation: once the job has run it may be fine
}

// Error prints FILE:LINE: text, without the hint.
func (p Problem) Error() string { return source(p.File, p.Line) + ": " + p.Text }

// source is how a position is written.
func source(file string, line int) string {
	if line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// Compile compiles sections in their order. Sections that are none of ours
// are passed over. It reads nothing but its arguments.
//
// A step that cannot be taken adds to Problems and nothing to Specs. One that
// says Enabled=no adds to Skips, whatever else is wrong with it, since often
// the rest has no value then.
func Compile(sections []unitfile.Section, ctx Context) *Plan {
	c := compiler{ctx: ctx, plan: &Plan{}}
	var settings []unitfile.Section
	var steps []*step
	for _, s := range sections {
		switch what, kind := classify(s.Name, ctx.Registry); what {
		case settingsSection:
			settings = append(settings, s)
		case stepSection:
			steps = append(steps, newStep(s, ctx.Registry.Kind(kind), kind))
		case strangeSection:
			c.strange(s, kind)
		}
	}
	c.settings(settings)
	c.names(steps)
	for _, s := range steps {
		c.step(s)
	}
	return c.plan
}

// compiler carries one compilation.
type compiler struct {
	ctx  Context
	plan *Plan
}
