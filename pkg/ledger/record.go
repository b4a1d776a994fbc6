package ledger

import (
	"time"

	"job-cleanup/pkg/outcome"
	"job-cleanup/pkg/residue"
)

// version is what this program writes, and the only one it acts on.
const version = 1

// Limits that keep a reader's memory bounded whoever wrote the file.
const (
	MaxLine    = 1 << 20  // bytes of one record
	MaxFile    = 64 << 20 // bytes of one ledger
	maxMessage = 4 << 10  // bytes of Record.Message; the rest is cut off
)

// Type tells the records apart.
type Type string

// The types of records.
const (
	TypeJob     Type = "job"     // whose ledger it is
	TypeSpec    Type = "spec"    // a spec is owed, also when it was closed before
	TypeFound   Type = "found"   // a spec's residue is owed, or the spec's find is complete
	TypeAttempt Type = "attempt" // a try that left it owed
	TypeClosed  Type = "closed"  // no longer owed
	TypeForget  Type = "forget"  // taken back by whoever recorded it
	TypeOutcome Type = "outcome" // how the job ended; recorded when its cleanup ran
)

// Record is one line of a ledger. Make it with the function of its type; the
// fields a type does not use are zero. Append sets Version, and At when it is
// zero.
type Record struct {
	Version int       `json:"v"`
	Type    Type      `json:"t"`
	At      time.Time `json:"at,omitzero"`

	Job       *Job             `json:"job,omitempty"`
	Spec      *residue.Spec    `json:"spec,omitempty"`
	ID        string           `json:"id,omitempty"`         // of the spec; of spec or residue in a forget
	Residue   *residue.Residue `json:"residue,omitempty"`    // of a found
	ResidueID string           `json:"residue_id,omitempty"` // of an attempt or closed; "" means the spec itself
	Complete  bool             `json:"complete,omitempty"`   // of a found: the spec's find succeeded
	Status    string           `json:"status,omitempty"`     // "owed"; of a closed "removed", "absent", …
	Reason    residue.Reason   `json:"reason,omitempty"`
	Message   string           `json:"message,omitempty"` // for people; free of secrets
	N         int              `json:"n,omitempty"`       // attempts so far, this one included
	Next      time.Time        `json:"next,omitzero"`     // no attempt before it
	Until     time.Time        `json:"until,omitzero"`    // it ends by itself then
	Ending    *Ending          `json:"outcome,omitempty"`
}

// Job is the job and what was recorded about it while it could be asked.
type Job struct {
	residue.Job
	Witness    Witness       `json:"witness,omitempty"`     // who knows whether it lives
	Holder     *Process      `json:"holder,omitempty"`      // of witness "holder"
	Machine    string        `json:"machine,omitempty"`     // machine id, where it is a lasting one
	MaxJob     time.Duration `json:"max_job,omitempty"`     // of witness "run": over after that; 0 means DefaultMaxJob
	Fragment   string        `json:"fragment,omitempty"`    // path of the unit file
	DropIns    []string      `json:"drop_ins,omitempty"`    // paths, in order
	StartLimit time.Duration `json:"start_limit,omitempty"` // TimeoutStartUSec; 0 means not known or infinite
	StopLimit  time.Duration `json:"stop_limit,omitempty"`  // TimeoutStopUSec; likewise

	// Armed says that the specs were recorded before the job began; they win
	// over a plan edited meanwhile. Deferred names the steps that had to wait
	// for what the job would put into its environment.
	Armed    bool     `json:"armed,omitempty"`
	Deferred []string `json:"deferred,omitempty"`
}

// Ending is how a job ended and when its cleanup ran.
type Ending struct {
	outcome.Outcome
	RunStart time.Time `json:"run_start,omitzero"`
	RunEnd   time.Time `json:"run_end,omitzero"`
}

// NewJob records whose ledger it is. The last one in a ledger counts.
func NewJob(j Job) Record { return Record{Type: TypeJob, Job: &j} }

// NewSpec records that a spec is owed.
func NewSpec(s residue.Spec) Record { return Record{Type: TypeSpec, Spec: &s} }

// Found records that a residue of a spec is owed.
func Found(specID string, r residue.Residue) Record {
	return Record{Type: TypeFound, ID: specID, Residue: &r}
}

// Complete records that a spec's find succeeded: from now on only the residues
// that were found are owed.
func Complete(specID string) Record { return Record{Type: TypeFound, ID: specID, Complete: true} }

// Attempt records a try that left a spec (residueID "") or a residue owed; n
// counts all tries up to this one; 0 says that nothing was tried, for the reason
// given. Status is "owed", or "not-revocable" with
// the record's Until set.
func Attempt(specID, residueID, status string, n int, e *residue.Error) Record {
	r := Record{Type: TypeAttempt, ID: specID, ResidueID: residueID, Status: status, N: n}
	if e != nil {
		r.Reason, r.Until = e.Reason, e.Until
		if e.Err != nil {
			r.Message = e.Err.Error()
		}
	}
	return r
}

// Closed records that a spec (residueID "") or a residue is not owed any more
// and why: "removed", "absent", "lost-ownership", "not-revocable", "refused",
// "skipped". Closing a spec leaves the residues it found as they are.
func Closed(specID, residueID, status string, reason residue.Reason) Record {
	return Record{Type: TypeClosed, ID: specID, ResidueID: residueID, Status: status, Reason: reason}
}

// Forget records that a spec with all its residues, or one residue, is taken
// back.
func Forget(id string) Record { return Record{Type: TypeForget, ID: id} }

// Ended records how the job ended and when its cleanup ran.
func Ended(e Ending) Record { return Record{Type: TypeOutcome, Ending: &e} }

// complete reports whether r has what its type needs.
func (r *Record) complete() bool {
	switch r.Type {
	case TypeJob:
		return r.Job != nil
	case TypeSpec:
		return r.Spec != nil && r.Spec.ID != ""
	case TypeFound:
		return r.ID != "" && (r.Complete || r.Residue != nil && r.Residue.ID != "")
	case TypeClosed:
		return r.ID != "" && r.Status != ""
	case TypeAttempt, TypeForget:
		return r.ID != ""
	case TypeOutcome:
		return r.Ending != nil
	}
	return false
}
