package main

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"job-cleanup/pkg/journal"
)

// pastDebt is residue that was owed, or a step whose look-up failed.
type pastDebt struct {
	id, kind, ref, reason, detail string
	line                          string // of the plan, for a step
	attempts                      int
	since, until                  time.Time     // until: when it was closed
	status                        journal.Event // how; owed while it is open
	byRoot                        bool          // root told of it
	pass                          int           // of the account, that tried it last
	job                           *pastJob
}

func (d *pastDebt) isOpen() bool { return d.status == journal.Owed }

// isDone reports whether it is proven gone; refused or somebody else's is not.
func (d *pastDebt) isDone() bool { return d.status == journal.Removed || d.status == journal.Absent }

// What is kept of one job.
const (
	residuesKept = 60   // lines of what is done with
	linesKept    = 300  // lines with what was owed
	debtsKept    = 2000 // debts that are followed
	textKept     = 2000 // bytes of one text
	notesKept    = 10
)

// openDebts finds an open debt again. A residue goes by its id, and where a
// record has none by kind and reference. A step whose look-up failed goes by
// its line as well: what is found later has other references.
type openDebts struct {
	byID, byRef map[string]*pastDebt
	byLine      map[string][]*pastDebt
}

func newOpenDebts() openDebts {
	return openDebts{map[string]*pastDebt{}, map[string]*pastDebt{}, map[string][]*pastDebt{}}
}

func (o openDebts) add(d *pastDebt) {
	o.byRef[d.kind+"\x00"+d.ref] = d
	if d.id != "" {
		o.byID[d.id] = d
	} else if d.line != "" {
		o.byLine[d.line] = append(o.byLine[d.line], d)
	}
}

func (o openDebts) drop(d *pastDebt) {
	if key := d.kind + "\x00" + d.ref; o.byRef[key] == d {
		delete(o.byRef, key)
	}
	if o.byID[d.id] == d {
		delete(o.byID, d.id)
	}
	o.byLine[d.line] = slices.DeleteFunc(o.byLine[d.line], func(other *pastDebt) bool { return other == d })
}

// find returns the open debt that a record is about, nil for none.
func (o openDebts) find(e journal.Entry, pass int) *pastDebt {
	if d := o.byID[e.ResidueID]; d != nil && e.ResidueID != "" {
		return d
	}
	if d := o.byRef[e.Kind+"\x00"+short(e.Ref)]; d != nil && (d.id == "" || e.ResidueID == "") {
		return d
	}
	// Of several steps nobody can tell which, and a look-up may fail halfway.
	if of := o.byLine[lineOf(e)]; len(of) == 1 && of[0].pass < pass {
		return of[0]
	}
	return nil
}

// lineOf is the plan's line that a record comes from, with the kind, "" where
// it has none of its own.
func lineOf(e journal.Entry) string {
	if !strings.Contains(e.Source, ":") {
		return ""
	}
	return e.Kind + "\x00" + e.Source
}

// residue adds what became of one residue. What was owed before has its line
// already.
func (a *pastAccount) residue(e journal.Entry) {
	j := a.job
	a.begin(e)
	var debt *pastDebt
	switch known := a.open.find(e, a.pass); {
	case e.Event != journal.Owed:
		if a.close(e) {
			return
		}
	case known != nil:
		a.again(known, e)
		return
	case len(j.debts) >= debtsKept:
		j.unfollowed++
	default:
		debt = a.owe(e)
	}
	j.line(e, debt)
}

// begin counts a record for the pass that is going on.
func (a *pastAccount) begin(e journal.Entry) {
	j := a.job
	if !j.isRun() || j.told() {
		a.pass++
		j.passes = append(j.passes, pastPass{cut: true, counts: map[journal.Event]int{}})
	}
	pass := &j.passes[len(j.passes)-1]
	pass.end = e.Time
	pass.counts[e.Event] += max(e.Count, 1)
}

// line adds a line to the job, or counts what has no place.
func (j *pastJob) line(e journal.Entry, debt *pastDebt) {
	if len(j.residues) >= residuesKept && debt == nil || len(j.residues) >= linesKept {
		if j.more == nil {
			j.more = map[journal.Event]int{}
		}
		j.more[e.Event] += max(e.Count, 1)
		return
	}
	j.residues = append(j.residues, pastResidue{
		status: e.Event, kind: e.Kind, ref: short(cmp.Or(e.Ref, e.Step, e.Source)), reason: e.Reason, detail: short(e.Detail),
		attempt: e.Attempt, count: e.Count, took: e.Duration, debt: debt,
	})
}

// owe opens a debt.
func (a *pastAccount) owe(e journal.Entry) *pastDebt {
	debt := &pastDebt{
		id: e.ResidueID, kind: e.Kind, ref: short(cmp.Or(e.Ref, e.Step, e.Source)), reason: e.Reason, detail: short(e.Detail), attempts: e.Attempt,
		since: e.Time, status: journal.Owed, byRoot: fromRoot(e), pass: a.pass, job: a.job,
	}
	if debt.id == "" {
		debt.line = lineOf(e)
	}
	a.open.add(debt)
	a.job.debts = append(a.job.debts, debt)
	return debt
}

// again is one more try in vain. Of a step it may be the residue that a
// look-up has found at last.
func (a *pastAccount) again(d *pastDebt, e journal.Entry) {
	a.open.drop(d)
	d.attempts, d.reason, d.detail, d.pass = max(d.attempts, e.Attempt), e.Reason, short(e.Detail), a.pass
	if d.id == "" && e.ResidueID != "" {
		d.id, d.ref, d.line = e.ResidueID, short(e.Ref), ""
	}
	d.byRoot = d.byRoot || fromRoot(e)
	a.open.add(d)
}

// close ends the debt that a record is about, and reports whether the record
// needs no line of its own. A job can't take back what root told of it.
func (a *pastAccount) close(e journal.Entry) bool {
	d := a.open.find(e, a.pass)
	if d == nil || d.byRoot && !fromRoot(e) {
		return false
	}
	a.open.drop(d)
	d.status, d.until, d.attempts = e.Event, e.Time, max(d.attempts, e.Attempt)
	return d.ref == short(e.Ref) || e.Event == journal.Forgotten
}

func fromRoot(e journal.Entry) bool {
	uid := e.Fields["_UID"]
	return len(uid) == 1 && uid[0] == "0"
}

// short is a text cut to what is kept of one.
func short(text string) string { return firstOf(text, textKept) }

// firstOf is the beginning of a text, cut between characters.
func firstOf(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return strings.Clone(text[:most]) + "…"
}
