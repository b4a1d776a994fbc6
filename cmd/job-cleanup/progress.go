package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"job-cleanup/pkg/engine"
	"job-cleanup/pkg/journal"
	"job-cleanup/pkg/residue"
)

// progress is how far a cleanup is: for the status line of a terminal, and for
// the manager's STATUS=. The zero value is a cleanup that has not begun; nil
// takes everything and tells nothing.
type progress struct {
	mu   sync.Mutex
	unit string
	over map[string]bool // all that is to come to an end, by id, and whether it did
	done int             // of these
	open []underway      // the longest first
	gone atomic.Int64    // parts of residues
}

// underway is a call that has begun.
type underway struct{ id, text string }

// expect begins the cleanup of one job, or what it owed before.
func (p *progress) expect(unit string, items []engine.Item) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unit, p.over, p.done, p.open = unit, map[string]bool{}, 0, nil
	p.gone.Store(0)
	for _, item := range items {
		if !item.Resolved {
			p.over[item.Spec.ID] = false
		}
		p.add(item.Found)
	}
}

func (p *progress) add(found []residue.Residue) {
	if p.over == nil {
		p.over = map[string]bool{}
	}
	for _, r := range found {
		if _, known := p.over[r.ID]; !known {
			p.over[r.ID] = false
		}
	}
}

// more counts parts of residues that are gone.
func (p *progress) more(parts int64) {
	if p != nil {
		p.gone.Add(parts)
	}
}

// begin notes that a call begins, and returns what notes its end.
func (p *progress) begin(of engine.Event) func() {
	if p == nil {
		return func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = append(p.open, underway{of.ID(), of.Spec.Kind + " " + of.Ref()})
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.open = slices.DeleteFunc(p.open, func(u underway) bool { return u.id == of.ID() })
		if of.Residue != nil { // what became of it may be told much later
			p.end(of.ID())
		}
	}
}

// record notes a step of the engine's.
func (p *progress) record(ev engine.Event) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if ev.Status != engine.Found {
		p.end(ev.ID())
		return
	}
	p.add(ev.Residues)
	if ev.Complete && len(ev.Residues) > 0 {
		delete(p.over, ev.Spec.ID)
	}
}

// end counts what is over. What only the job's own ledger had does not count:
// nobody knows how much of that there is.
func (p *progress) end(id string) {
	if over, known := p.over[id]; known && !over {
		p.over[id] = true
		p.done++
	}
}

// line is one line for people: no wider than so many columns, however wide for
// 0, and "" when there is nothing to tell.
func (p *progress) line(columns int) string {
	if p == nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unit == "" {
		return ""
	}
	head := "cleaning " + p.unit
	if total := len(p.over); total > 0 {
		head += fmt.Sprintf("  %d/%d", p.done, total)
	}
	what, tail := "", ""
	if len(p.open) > 0 {
		what = "  " + p.open[0].text
	}
	if gone := p.gone.Load(); gone > 0 {
		tail = "  " + thousands(gone) + " gone"
	}
	if columns > 0 { // the numbers are what moves
		what = cut(plain(what), max(columns-len(head)-len(tail), 1))
	}
	return cut(plain(head+what+tail), columns)
}

// plain is a text that can't move a terminal's cursor.
func plain(text string) string { return strings.ReplaceAll(journal.Escape(text), "\t", " ") }

// thousands writes a number as people read it: 41,200.
func thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// cut shortens a text to so many columns. What is no ASCII may be two of them
// wide; to take all of it for that wide leaves a gap at worst.
func cut(text string, columns int) string {
	if columns <= 0 {
		return text
	}
	used := 0
	for at, r := range text {
		if used++; r >= utf8.RuneSelf {
			used++
		}
		if used > columns {
			return text[:at]
		}
	}
	return text
}
