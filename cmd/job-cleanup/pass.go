package main

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/engine"
	"job-cleanup/pkg/ledger"
)

// lockPatience is how long a pass waits for a unit that somebody else settles;
// they do what it came for.
const lockPatience = 500 * time.Millisecond

// pass is one round over what jobs that are over still owe.
type pass struct {
	*site
	probe     ledger.Probe
	drain     <-chan struct{}   // closed when no new work may begin; nil for never
	endpoints *engine.Endpoints // shared by all jobs of the round
	eager     bool              // also what rests after a try that did not help
	local     bool              // only what is on this machine
	remote    bool              // only what is not
	// credentials is the folder of the sweep's own unit's, "" for none.
	credentials string
	inside      bool          // we are the unit itself, in its arm or hook: no other invocation of it runs
	byHand      bool          // a person names the unit and means all of it
	budget      engine.Budget // for the debts of one job: no job starves the others

	waiting  []waiting // ledgers of which something stands aside
	emptying bool      // of these, that alone; see empty

	told string // the last trouble with a store: the two of root share a folder

	// recorder, if there is one, stands between the engine and the ledger.
	recorder func(*recorder) engine.Recorder
}

// newPass begins a round.
func (s *site) newPass(ctx context.Context, drain <-chan struct{}) *pass {
	return &pass{site: s, probe: s.probe(ctx), drain: drain, endpoints: &engine.Endpoints{}}
}

// complain tells a trouble with a store, once.
func (p *pass) complain(of string, err error) {
	if text := strings.Trim(of, "/") + ": " + err.Error(); text != p.told {
		p.told = text
		p.trouble(of, err)
	}
}

// candidate is a ledger with something to be done now.
type candidate struct {
	entry ledger.Entry
	since time.Time // the longest due of its debts
}

// candidates lists the ledgers of a store that have something due, the longest
// due first: what has just been tried in vain stands behind all others. It takes
// no lock and asks nobody, so that a round with nothing to do costs little.
func (p *pass) candidates(ctx context.Context, entries iter.Seq2[ledger.Entry, error], store *ledger.Store) (found []candidate, ok bool) {
	ok = true
	for entry, err := range entries {
		if stopped(p.drain) {
			break
		}
		if entry.Damaged > 0 || p.sleeps(entry) {
			continue
		}
		if err == nil {
			var since time.Time
			var due bool
			if since, due, err = p.look(ctx, store, entry); due {
				found = append(found, candidate{entry, since})
			}
		}
		if err != nil {
			p.complain(entry.Unit+"/"+entry.Invocation, err)
			ok = false
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return a.since.Compare(b.since) })
	return found, ok
}

// entries lists the ledgers of a store, and removes the folders in which a crash
// left none.
func (p *pass) entries(ctx context.Context, store *ledger.Store) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		for folder, err := range store.Units(ctx) {
			if err != nil {
				if !yield(ledger.Entry{Unit: folder.Unit}, err) {
					return
				}
				continue
			}
			empty := true
			for entry, err := range store.Ledgers(ctx, folder.Unit) {
				empty = false
				if !yield(entry, err) {
					return
				}
			}
			if empty {
				p.tidy(ctx, store, folder.Unit)
			}
		}
	}
}

// tidy removes a folder without a ledger. It is nobody's loss if it stays.
func (p *pass) tidy(ctx context.Context, store *ledger.Store, unit string) {
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	_ = store.Tidy(ctx, unit)
}

// store tries what is due in a store. It reports whether all of it could be
// read.
func (p *pass) store(ctx context.Context, store *ledger.Store) bool {
	found, ok := p.candidates(ctx, p.entries(ctx, store), store)
	for _, c := range found {
		if stopped(p.drain) {
			break
		}
		if err := p.job(ctx, store, c.entry); err != nil {
			p.trouble(c.entry.Unit+"/"+c.entry.Invocation, err)
			ok = false
		}
	}
	return ok
}

// job tries what one job owes, if that job is over. It holds the unit's lock,
// so that no new invocation is armed meanwhile, and looks again under it.
func (p *pass) job(ctx context.Context, store *ledger.Store, entry ledger.Entry) error {
	led, err := store.Ledger(entry.Unit, entry.Invocation)
	if err != nil {
		return err
	}
	release, err := p.lock(ctx, store, entry.Unit)
	if errors.Is(err, ledger.ErrBusy) {
		return nil // somebody is at it
	}
	if err != nil {
		return err
	}
	defer release()
	state, err := p.over(ctx, led)
	if err != nil || state == nil {
		return err
	}
	debts, aside := p.apart(ctx, state, p.due(state))
	before := time.Time{}
	if state.Job.Witness == ledger.ByManager {
		before = time.Now() // the unit may start again at any moment
	}
	switch {
	case p.unitRuns(ctx, state):
		debts = ownOnly(debts, state.Job.Invocation)
	case state.Job.Witness == ledger.ByManager && !state.Job.Armed && !p.byHand:
		debts = withoutPlace(debts, state.Job.Invocation)
	}
	sum := p.later(ctx, led, state, debts, before)
	if len(aside)+sum.Deferred > 0 {
		p.waiting = append(p.waiting, waiting{store: store, unit: entry.Unit, invocation: entry.Invocation})
	}
	return nil
}

// over reads the ledger of a job that is over; nil when it is gone by now, or
// the job may not be over.
func (p *pass) over(ctx context.Context, led *ledger.Ledger) (*ledger.State, error) {
	state, err := led.Replay(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if over, _ := state.Over(p.probe); !over {
		return nil, nil
	}
	return state, nil
}

// lock takes a unit's lock. It waits less than others for it.
func (p *pass) lock(ctx context.Context, store *ledger.Store, unit string) (func(), error) {
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	return p.lockFor(ctx, store, unit)
}

// lockFor takes a unit's lock, in memory where the ledgers' disk has no room for
// one or can't be written to: what is recorded there must be removed all the
// more.
func (s *site) lockFor(ctx context.Context, store *ledger.Store, unit string) (func(), error) {
	release, err := store.LockUnit(ctx, unit)
	for _, bad := range []error{unix.ENOSPC, unix.EDQUOT, unix.EROFS} {
		if errors.Is(err, bad) && s.runtime != "" {
			return ledger.Root(filepath.Join(s.runtime, ".locks"), -1).LockUnit(ctx, unit)
		}
	}
	return release, err
}

// withoutPlace drops what belongs to the unit rather than to one invocation. A
// unit that never arms takes no lock when it starts, which it may do at any
// moment; its own next hook comes back to that.
func withoutPlace(debts []ledger.Debt, invocation string) []ledger.Debt {
	own := map[string]bool{}
	for _, d := range ownOnly(slices.Clone(debts), invocation) {
		own[d.Spec.ID] = true
	}
	return slices.DeleteFunc(debts, func(d ledger.Debt) bool { return d.Spec.Tracked == nil && !own[d.Spec.ID] })
}

func stopped(drain <-chan struct{}) bool {
	select {
	case <-drain:
		return true
	default:
		return false
	}
}
