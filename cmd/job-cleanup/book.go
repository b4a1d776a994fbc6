package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"job-cleanup/pkg/ledger"
)

// recordLimit bounds the wait for a ledger that somebody else writes to.
const recordLimit = 3 * time.Second

// How long and how many lines may wait to be written.
const (
	holdLimit = 50 * time.Millisecond
	heldMost  = 256
)

// book writes the ledger lines of one cleanup. What is about to be removed is
// on the disk before that. The rest may wait for the next such write: a debt
// whose end is lost is looked at again, without harm. And a job that left
// nothing costs no write at all.
type book struct {
	ledger *ledger.Ledger // nil when there is nowhere to write, or nothing is to be written
	failed func(error)

	mu    sync.Mutex
	none  map[string]bool // specs that are not to be written down, by id
	opens []ledger.Record // the job and its specs, until the first of them is found
	ends  []ledger.Record
	// written says that there is something of this job in the ledger, or was.
	written bool
	held    bool // somebody did not let go of the ledger
}

// patience is how long one write may take. Who holds a ledger's lock for so long
// once does it on purpose: a job can do that with its own.
func (b *book) patience() time.Duration {
	if b.held {
		return recordLimit / 50
	}
	return recordLimit
}

// open notes what a cleanup begins with. It is written when something is found,
// or after a moment, whichever comes first.
func (b *book) open(records []ledger.Record) {
	if b.ledger == nil || len(records) == 0 {
		return
	}
	b.mu.Lock()
	b.opens = records
	b.mu.Unlock()
	time.AfterFunc(holdLimit, b.flush)
}

// ignore says that nothing of a spec is to be written down.
func (b *book) ignore(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.none == nil {
		b.none = map[string]bool{}
	}
	b.none[id] = true
}

// add writes records now, behind all that waited.
func (b *book) add(records ...ledger.Record) {
	if b.ledger == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	records = slices.DeleteFunc(records, func(r ledger.Record) bool { return b.none[r.ID] })
	if len(records) > 0 {
		b.write(records)
	}
}

// end notes the end of debts, or a try. The end of a spec that was never
// written down needs no record.
func (b *book) end(record ledger.Record) {
	if b.ledger == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.none[record.ID] {
		return
	}
	if record.Type == ledger.TypeClosed && record.ResidueID == "" && b.drop(record.ID) {
		return
	}
	b.ends = append(b.ends, record)
	if len(b.ends) >= heldMost {
		b.write(nil)
	}
}

// drop forgets a spec that waits to be written, and reports whether it did.
func (b *book) drop(id string) bool {
	before := len(b.opens)
	b.opens = slices.DeleteFunc(b.opens, func(r ledger.Record) bool { return r.Spec != nil && r.Spec.ID == id })
	return len(b.opens) < before
}

// flush writes what waited.
func (b *book) flush() {
	if b.ledger == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.write(nil)
}

func (b *book) write(more []ledger.Record) {
	if !slices.ContainsFunc(b.opens, isSpec) {
		b.opens = nil // the job alone owes nothing
	}
	all := slices.Concat(b.opens, b.ends, more)
	b.opens, b.ends = nil, nil
	if len(all) == 0 {
		return
	}
	b.written = true
	ctx, cancel := context.WithTimeout(context.Background(), b.patience())
	defer cancel()
	if err := b.ledger.Append(ctx, all...); err != nil {
		b.held = b.held || errors.Is(err, ledger.ErrBusy)
		b.failed(err)
	}
}

func isSpec(r ledger.Record) bool { return r.Type == ledger.TypeSpec }

// settle records what waited and removes the ledger when nothing is owed any
// more.
func (b *book) settle() (ledger.Settled, error) {
	if b.ledger == nil {
		return ledger.Settled{}, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if slices.ContainsFunc(b.opens, isSpec) {
		b.write(nil)
	}
	if !b.written && (len(b.ends) == 0 || len(b.ends) == 1 && b.ends[0].Type == ledger.TypeOutcome) {
		return ledger.Settled{Gone: true}, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), b.patience())
	defer cancel()
	ends := b.ends
	b.ends, b.written = nil, true
	return b.ledger.Settle(ctx, ends...)
}
