package ledger

// snapshot returns the records that say what s says about what is owed. What
// is closed is left out, and of attempts all but the last.
func (s *State) snapshot() []Record {
	var records []Record
	if !s.Recorded.IsZero() {
		records = append(records, s.jobRecord())
	}
	for _, a := range s.Accounts {
		records = append(records, a.snapshot(func(h *Holding) bool { return !h.Closed })...)
	}
	if s.Ending != nil {
		r := Ended(*s.Ending)
		r.Version, r.At = version, s.Last
		records = append(records, r)
	}
	return records
}

func (s *State) jobRecord() Record {
	r := NewJob(s.Job)
	r.Version, r.At = version, s.Recorded
	return r
}

// snapshot returns the records of an account with the residues that are
// wanted, or none when neither they nor its find are owed.
func (a *Account) snapshot(wanted func(*Holding) bool) []Record {
	var held []Record
	for _, h := range a.Residues {
		if wanted(h) {
			held = append(held, h.snapshot(a.Spec.ID)...)
		}
	}
	if len(held) == 0 && (a.Resolved || a.Closed) {
		return nil
	}
	return append(a.head(), held...)
}

// head returns the records of the account itself.
func (a *Account) head() []Record {
	records := []Record{{Version: version, Type: TypeSpec, At: a.Since, Spec: &a.Spec}}
	records = append(records, a.Progress.snapshot(a.Spec.ID, "")...)
	if a.Resolved {
		records = append(records, Record{Version: version, Type: TypeFound, At: a.Since, ID: a.Spec.ID, Complete: true})
	}
	return records
}

func (h *Holding) snapshot(specID string) []Record {
	records := []Record{{Version: version, Type: TypeFound, At: h.Since, ID: specID, Residue: &h.Residue}}
	return append(records, h.Progress.snapshot(specID, h.Residue.ID)...)
}

func (p *Progress) snapshot(specID, residueID string) []Record {
	r := Record{Version: version, Type: TypeAttempt, At: p.Last, ID: specID, ResidueID: residueID, Status: p.Status,
		Reason: p.Reason, Message: p.Message, N: p.Attempts, Next: p.Next, Until: p.Until}
	switch {
	case p.Closed:
		return []Record{{Version: version, Type: TypeClosed, At: p.Since, ID: specID, ResidueID: residueID,
			Status: p.Status, Reason: p.Reason}}
	case p.Attempts > 0, !p.Last.IsZero():
		return []Record{r}
	}
	return nil
}
