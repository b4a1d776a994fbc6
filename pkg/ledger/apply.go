package ledger

import (
	"time"

	"job-cleanup/pkg/residue"
)

// apply takes one record into account. Records come in any order and more than
// once after damage or a race; whatever is in doubt stays owed.
func (s *State) apply(r Record) {
	if r.At.After(s.Last) {
		s.Last = r.At
	}
	switch r.Type {
	case TypeJob:
		s.Job, s.Recorded = *r.Job, r.At
	case TypeOutcome:
		s.Ending = r.Ending
	case TypeSpec:
		a := s.account(r.Spec.ID, r.At)
		if r.Spec.Kind != "" || a.Spec.Kind == "" { // never less than we know
			a.Spec = *r.Spec
		}
		a.Resolved = false
		a.reopen(r.At)
	case TypeFound:
		s.account(r.ID, r.At).found(r)
	case TypeAttempt:
		s.progress(r).attempt(r)
	case TypeClosed:
		p := s.progress(r)
		p.Closed, p.Status, p.Reason = true, r.Status, r.Reason
	case TypeForget:
		s.forget(r.ID)
	}
}

// account returns the account of a spec. One that no line tells about is made:
// whatever speaks of it says that it was owed.
func (s *State) account(id string, at time.Time) *Account {
	a := s.index[id]
	if a == nil {
		a = &Account{Spec: residue.Spec{ID: id}, index: map[string]*Holding{}}
		a.Since = at
		s.index[id] = a
		s.Accounts = append(s.Accounts, a)
	}
	return a
}

// progress returns the progress that an attempt or closed is about.
func (s *State) progress(r Record) *Progress {
	a := s.account(r.ID, r.At)
	if r.ResidueID == "" {
		return &a.Progress
	}
	return &a.holding(r.ResidueID, r.At).Progress
}

func (a *Account) holding(id string, at time.Time) *Holding {
	h := a.index[id]
	if h == nil {
		h = &Holding{Residue: residue.Residue{ID: id}}
		h.Since = at
		a.index[id] = h
		a.Residues = append(a.Residues, h)
	}
	return h
}

func (a *Account) found(r Record) {
	if r.Residue != nil {
		h := a.holding(r.Residue.ID, r.At)
		if r.Residue.Ref != "" || h.Residue.Ref == "" {
			h.Residue = *r.Residue
		}
		h.reopen(r.At)
	}
	if r.Complete {
		a.Resolved = true
	}
}

// reopen makes it owed again, as if it had never been closed.
func (p *Progress) reopen(at time.Time) {
	if p.Closed {
		*p = Progress{Since: at}
	}
}

func (p *Progress) attempt(r Record) {
	if p.Closed {
		return // somebody else proved it gone meanwhile
	}
	p.Attempts = max(p.Attempts, r.N) // a line may stand there twice
	p.Status, p.Last, p.Reason, p.Message, p.Next, p.Until = r.Status, r.At, r.Reason, r.Message, r.Next, r.Until
}

func (s *State) forget(id string) {
	if a := s.index[id]; a != nil {
		a.Closed, a.Status = true, forgotten
		for _, h := range a.Residues {
			h.Closed, h.Status = true, forgotten
		}
	}
	for _, a := range s.Accounts {
		if h := a.index[id]; h != nil {
			h.Closed, h.Status = true, forgotten
		}
	}
}
