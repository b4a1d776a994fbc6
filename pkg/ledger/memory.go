package ledger

// memory is what a handle knows of its invocation, apart from what the file
// says: the file may have been settled by another process and begun again.
type memory struct {
	known   *State   // what we read and wrote, also where the write failed
	file    identity // the file that present is about
	size    int64    // of that file before it was last read
	present presence // what we know to stand in it
}

// presence is the set of ids a file has: residues by spec.
type presence struct {
	job   bool
	specs map[string]map[string]bool
}

func (p *presence) add(records []Record) {
	for _, r := range records {
		id, residueID := r.ID, r.ResidueID
		switch r.Type {
		case TypeJob:
			p.job = true
			continue
		case TypeSpec:
			id = r.Spec.ID
		case TypeFound:
			if r.Residue != nil {
				residueID = r.Residue.ID
			}
		case TypeAttempt, TypeClosed:
		default:
			continue
		}
		p.put(id)
		p.specs[id][residueID] = true
	}
}

func (p *presence) put(id string) {
	if p.specs == nil {
		p.specs = map[string]map[string]bool{}
	}
	if p.specs[id] == nil {
		p.specs[id] = map[string]bool{}
	}
}

// learn takes over what a file was read to say.
func (m *memory) learn(s *State, id identity) {
	m.note(s.snapshot())
	m.file, m.present = id, presence{job: !s.Recorded.IsZero()}
	for _, a := range s.Accounts {
		m.present.put(a.Spec.ID)
		for _, h := range a.Residues {
			m.present.specs[a.Spec.ID][h.Residue.ID] = true
		}
	}
}

// note remembers records whether or not they reach the file.
func (m *memory) note(records []Record) {
	if m.known == nil {
		m.known = newState()
	}
	for _, r := range records {
		m.known.apply(r)
	}
}

// missing returns the records that give a meaning to those that are to be
// written, where the file does not have them: whose ledger it is, the spec
// spoken of, the residue spoken of.
func (m *memory) missing(records []Record) []Record {
	if m.known == nil {
		return nil
	}
	var before []Record
	if !m.present.job && !m.known.Recorded.IsZero() {
		before = append(before, m.known.jobRecord())
	}
	stated := presence{}
	for _, r := range records {
		if r.Type == TypeSpec {
			stated.add([]Record{r})
		}
		a := m.known.index[r.ID]
		if a == nil || r.Type == TypeForget {
			continue
		}
		if m.present.specs[r.ID] == nil && stated.specs[r.ID] == nil {
			before = append(before, a.head()...)
			stated.put(r.ID)
		}
		h := a.index[r.ResidueID]
		if h != nil && !m.present.specs[r.ID][r.ResidueID] && !stated.specs[r.ID][r.ResidueID] {
			before = append(before, h.snapshot(r.ID)...)
			stated.put(r.ID)
			stated.specs[r.ID][r.ResidueID] = true
		}
	}
	return before
}
