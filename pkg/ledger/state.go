package ledger

import (
	"time"

	"job-cleanup/pkg/residue"
)

// forgotten is the status of what was taken back.
const forgotten = "forgotten"

// State is what a ledger says.
type State struct {
	Job      Job       // Unit and Invocation are those of the file's name
	Recorded time.Time // when the job was; zero when no line tells about it
	Accounts []*Account
	Ending   *Ending  // nil until the job's cleanup ran
	Unknown  []string // records of other versions and types, verbatim; they are owed
	Damage   []Damage // lines that could not be read; only the first ones
	Torn     int      // writes that never ended
	Last     time.Time

	damaged int
	newer   bool // holds fields we would lose by writing it anew
	index   map[string]*Account
}

// Account is one spec and what became of it.
type Account struct {
	Spec     residue.Spec // only its ID when no line tells more
	Resolved bool         // its find succeeded: only the residues are owed
	Residues []*Holding
	Progress

	index map[string]*Holding
}

// Holding is one residue of a spec and what became of it.
type Holding struct {
	Residue residue.Residue // only its ID when no line tells more
	Progress
}

// Progress is what was tried so far.
type Progress struct {
	Since    time.Time // recorded first
	Status   string    // "" or that of the last attempt while owed, else why it is closed
	Closed   bool
	Attempts int
	Last     time.Time      // the last attempt
	Reason   residue.Reason // of the last attempt
	Message  string         // of the last attempt
	Next     time.Time      // no attempt before it
	Until    time.Time      // it ends by itself then
}

// Debt is one thing owed: a spec whose find has not succeeded (Residue is
// nil), or a residue not proven gone.
type Debt struct {
	Spec    residue.Spec
	Residue *residue.Residue
	Progress
}

func newState() *State { return &State{index: map[string]*Account{}} }

// Owed lists what is owed, in the order it was recorded. Records of unknown
// version or type, and damage, are owed too but can't be listed: see Done.
func (s *State) Owed() []Debt {
	var debts []Debt
	for _, a := range s.Accounts {
		if !a.Resolved && !a.Closed {
			debts = append(debts, Debt{Spec: a.Spec, Progress: a.Progress})
		}
		for _, h := range a.Residues {
			if !h.Closed {
				debts = append(debts, Debt{Spec: a.Spec, Residue: &h.Residue, Progress: h.Progress})
			}
		}
	}
	return debts
}

// Done reports whether nothing is owed for certain: no debt, no record that we
// can't read, no damage.
func (s *State) Done() bool {
	return s.damaged == 0 && len(s.Unknown) == 0 && len(s.Owed()) == 0
}

// Account returns the account of a spec, nil when there is none.
func (s *State) Account(specID string) *Account { return s.index[specID] }

// Residue returns a residue of the account by its id, nil when there is none.
func (a *Account) Residue(id string) *Holding { return a.index[id] }
