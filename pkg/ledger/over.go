package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
)

// DefaultMaxJob is how long a job that nobody watches is taken to live.
const DefaultMaxJob = 24 * time.Hour

// Witness is who knows whether a job lives.
type Witness string

// The witnesses.
const (
	ByManager Witness = "manager" // the service manager, about the unit
	ByHolder  Witness = "holder"  // the process table, about the process that runs the job
	ByRun     Witness = "run"     // nobody (CI, a container): over when its cleanup was called, or at MaxJob
)

// Probe is how Over looks at the world. A nil function does not answer.
type Probe struct {
	Now     time.Time
	Boot    string // boot id of this boot
	Machine string // machine id, "" when it is not a lasting one
	Space   string // our PID namespace; see ProcessSpace

	// Unit asks the job's manager. A unit it does not know is a UnitState with
	// Load "not-found", not an error.
	Unit func(Job) (UnitState, error)
	// Start is ProcessStart.
	Start func(pid int) (uint64, error)
}

// UnitState is a unit as the manager tells it over D-Bus, in its words.
type UnitState struct {
	Load       string // LoadState
	Active     string // ActiveState
	Sub        string // SubState
	Invocation string // InvocationID, 32 hexadecimal digits
}

// Over decides whether the job of a ledger is over, so that what it owes may be
// removed, and why or why not. Whatever is not known for certain means that it
// lives: being silent for long does not end a job.
func (s *State) Over(p Probe) (over bool, reason string) {
	j := s.Job
	if j.Machine != "" && p.Machine != "" && !sameID(j.Machine, p.Machine) {
		return false, "of another machine"
	}
	if j.Boot != "" && p.Boot != "" && !sameID(j.Boot, p.Boot) {
		return true, "of another boot"
	}
	switch witness := j.Witness; {
	case s.Recorded.IsZero():
		return s.overUnrecorded(p)
	case witness == ByRun, witness == "" && j.CI:
		return s.overUnwatched(p)
	case witness == ByHolder, witness == "" && j.Holder != nil:
		return s.overHolder(p)
	case witness == ByManager, witness == "":
		return overUnit(j, p)
	default:
		return false, fmt.Sprintf("unknown witness %q", witness)
	}
}

// sameID compares ids that some write with dashes.
func sameID(a, b string) bool {
	return strings.EqualFold(strings.ReplaceAll(a, "-", ""), strings.ReplaceAll(b, "-", ""))
}

func overUnit(j Job, p Probe) (bool, string) {
	if p.Unit == nil {
		return false, "no manager to ask"
	}
	u, err := p.Unit(j)
	if err != nil {
		return false, "the manager does not answer"
	}
	switch {
	case u.Active == "inactive", u.Active == "failed":
		if u.Load == "not-found" {
			return true, "the unit is not loaded"
		}
		return true, "the unit is " + u.Active
	case u.Active == "" && u.Load == "not-found":
		return true, "the unit is not loaded"
	case strings.HasPrefix(u.Sub, "auto-restart"): // also auto-restart-queued
		return true, "the unit waits for its restart"
	case u.Invocation != "" && j.Invocation != "" && !sameID(u.Invocation, j.Invocation):
		return true, "the unit runs another invocation"
	}
	return false, "the unit is " + u.Active
}

func (s *State) overHolder(p Probe) (bool, string) {
	h := s.Job.Holder
	if h == nil || p.Start == nil {
		return false, "no process to look for"
	}
	if h.Space != "" && p.Space != "" && h.Space != p.Space {
		return s.overUnwatched(p) // a container's number means nothing here
	}
	start, err := p.Start(h.PID)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, fmt.Sprintf("process %d is gone", h.PID)
	case err != nil:
		return false, fmt.Sprintf("process %d can't be looked at", h.PID)
	case start != h.Start:
		return true, fmt.Sprintf("process %d is another one", h.PID)
	}
	return false, fmt.Sprintf("process %d lives", h.PID)
}

func (s *State) overUnwatched(p Probe) (bool, string) {
	if s.Ending != nil {
		return true, "its cleanup was called"
	}
	limit := s.Job.MaxJob
	if limit <= 0 {
		limit = DefaultMaxJob
	}
	begun := s.Job.Start
	if begun.IsZero() {
		begun = s.Recorded
	}
	if begun.IsZero() {
		begun = s.Last
	}
	if !begun.IsZero() && p.Now.Sub(begun) > limit {
		return true, fmt.Sprintf("it began more than %v ago", limit)
	}
	return false, "its cleanup was not called yet"
}

// overUnrecorded is for a ledger that lost the record of its job: nobody knows
// whom to ask, so both the manager and the clock must say so.
func (s *State) overUnrecorded(p Probe) (bool, string) {
	if over, why := s.overUnwatched(p); !over {
		return false, why
	}
	return overUnit(s.Job, p)
}
