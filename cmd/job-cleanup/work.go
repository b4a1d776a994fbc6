package main

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"job-cleanup/pkg/engine"
	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/outcome"
	"job-cleanup/pkg/plan"
	"job-cleanup/pkg/residue"
)

// work is what one cleanup has to do.
type work struct {
	items     []engine.Item   // with our own rights
	tracked   bool            // the job has a ledger of its own, which only a process with its rights may open
	lent      []engine.Item   // only with the job's rights: text of its environment stands in them
	unwritten map[string]bool // specs that are not to stand in our ledger, by id
	closed    []string        // recorded specs that are not to be done, by id
	recorded  map[string]bool // specs that our ledger has already, by id
	roots     map[string]bool // specs that root's ledger has, and that it takes from no other, by id
	plan      *plan.Plan      // what was compiled now: its problems, skips and settings
}

// gather puts together what is owed: what arm recorded, what the plan says
// beyond that, and what our own ledger has from an earlier try.
func (s *site) gather(ctx context.Context, sub *subject, own *ledger.Ledger) (*work, error) {
	armed, err := s.armed(ctx, sub)
	if err != nil {
		s.trouble("what was armed can't be read", err)
	}
	if armed != nil {
		if armed.Ending != nil && sub.outcome.Result == outcome.Unknown {
			sub.outcome = armed.Ending.Outcome // cleaned again, by hand
		}
		sub.adopt(armed.Job)
	}
	compiled, err := s.compile(sub, false)
	if err != nil {
		return nil, err
	}
	w := &work{plan: compiled, recorded: map[string]bool{}}
	items := itemsOf(armed)
	if armed != nil && armed.Job.Armed {
		w.plan = deferred(compiled, armed)
		items = w.disabled(compiled, items)
	}
	if s.uid != 0 && own != nil {
		if state, err := own.Replay(ctx); err == nil {
			items = merge(itemsOf(state), items, w.recorded)
		}
	} else {
		mark(w.recorded, items)
	}
	if s.uid != 0 && s.given(sub.job.Unit) {
		w.roots = untrackable(itemsOf(armed))
	}
	items, err = s.choose(sub, w, items)
	if err != nil {
		return nil, err
	}
	if sub.job.Invocation == byHand { // a second debt would say nothing new
		items = slices.DeleteFunc(items, func(item engine.Item) bool { return sub.elsewhere[item.Spec.ID] })
	}
	w.divide(s, sub, items)
	w.tracked = s.uid == 0 && !sub.rootsOwn() && s.hasJobLedger(sub)
	return w, nil
}

// armed reads the ledger that arm wrote for the job, root's or a user's own; nil when there is none, or when it is
// not for us to read.
func (s *site) armed(ctx context.Context, sub *subject) (*ledger.State, error) {
	if sub.job.Invocation == byHand {
		return nil, nil // nobody armed that, and what is owed of it was just tried
	}
	store := ledger.Root(s.shared, -1)
	if s.uid != 0 && (s.shared == s.state || sub.job.UserBus) {
		store = s.storeOf(sub.job.Job) // a user's own store has no part of root's
	}
	l, err := store.Ledger(sub.job.Unit, sub.job.Invocation)
	if err != nil {
		return nil, err
	}
	state, err := l.Replay(ctx)
	if errors.Is(err, fs.ErrNotExist) || s.uid != 0 && errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	return state, err
}

// adopt takes over what arm recorded about the job: it could ask more than a
// hook in a sandbox can, and before the job could change anything.
func (sub *subject) adopt(job ledger.Job) {
	outside, homes := sub.job.Outside, sub.job.Homes
	user, ending, rights := sub.job.User, sub.outcome, sub.job.FullRights
	sub.job = job
	sub.job.FullRights = job.FullRights || rights
	sub.job.Outside, sub.job.Homes, sub.job.Outcome = outside, homes, ending
	if sub.job.User == nil {
		sub.job.User = user
	}
}

// disabled takes out armed steps that the job switched off meanwhile by a
// variable in Enabled=.
func (w *work) disabled(compiled *plan.Plan, items []engine.Item) []engine.Item {
	return slices.DeleteFunc(items, func(item engine.Item) bool {
		i := slices.IndexFunc(compiled.Skips, func(skip plan.Skip) bool { return skip.Step == item.Spec.Name })
		if i < 0 {
			return false
		}
		skip := compiled.Skips[i]
		skip.Value = item.Spec.Value
		w.plan.Skips = append(w.plan.Skips, skip)
		w.closed = append(w.closed, item.Spec.ID)
		return true
	})
}

// choose applies --skip and --only to all specs, recorded ones too, and
// returns the items that are left. In a hook the others are not to be done; who
// asks for some by hand has not said so.
func (s *site) choose(sub *subject, w *work, items []engine.Item) ([]engine.Item, error) {
	known := map[string]engine.Item{}
	var specs []residue.Spec
	for _, item := range items {
		known[item.Spec.ID] = item
		specs = append(specs, item.Spec)
	}
	for _, spec := range w.plan.Specs {
		if _, twice := known[spec.ID]; !twice {
			known[spec.ID] = engine.Item{Spec: spec}
			specs = append(specs, spec)
		}
	}
	w.plan.Specs = specs
	if err := w.plan.Filter(kinds(), s.opts.skip, s.opts.only); err != nil {
		return nil, usagef("say a step's name or a kind", "%v", err)
	}
	var chosen []engine.Item
	for _, spec := range w.plan.Specs {
		chosen = append(chosen, known[spec.ID])
		delete(known, spec.ID)
	}
	for id := range known {
		if sub.env || sub.job.CI {
			w.closed = append(w.closed, id)
		}
	}
	return chosen, nil
}

// divide tells apart what needs the job's own rights. As root, for a unit with
// a user of its own, text from the environment is that user's word, no more.
func (w *work) divide(s *site, sub *subject, items []engine.Item) {
	for _, item := range items {
		if s.uid == 0 && item.Spec.FromEnv && !sub.rootsOwn() {
			w.lent = append(w.lent, item)
		} else {
			w.items = append(w.items, item)
		}
	}
}

// rootsOwn reports whether the job certainly runs as root, so that what it says
// may be done with root's rights.
func (sub *subject) rootsOwn() bool {
	return sub.job.User != nil && sub.job.User.UID == 0
}

// itemsOf lists what a ledger says is owed.
func itemsOf(state *ledger.State) []engine.Item {
	if state == nil {
		return nil
	}
	return itemsFrom(state.Owed())
}

// itemsFrom makes items of debts, in their order.
func itemsFrom(debts []ledger.Debt) []engine.Item {
	var items []engine.Item
	at := map[string]int{}
	for _, debt := range debts {
		i, ok := at[debt.Spec.ID]
		if !ok {
			i = len(items)
			at[debt.Spec.ID] = i
			items = append(items, engine.Item{Spec: debt.Spec, Resolved: true, Attempts: map[string]int{}})
		}
		if debt.Residue == nil {
			items[i].Resolved = false
			items[i].Attempts[debt.Spec.ID] = debt.Attempts
		} else {
			items[i].Found = append(items[i].Found, *debt.Residue)
			items[i].Attempts[debt.Residue.ID] = debt.Attempts
		}
	}
	return items
}

// untrackable are the specs of kinds that a job may not track.
func untrackable(items []engine.Item) map[string]bool {
	ids := map[string]bool{}
	for _, item := range items {
		if !mayTrack(item.Spec) {
			ids[item.Spec.ID] = true
		}
	}
	return ids
}

// unrecord keeps out of the ledger what a safety rule refuses anyway: a password
// in a DSN, say, is refused so that it is written down nowhere. And out of a
// job's own ledger what root takes from its own alone: nobody would ever strike
// that off.
func (s *site) unrecord(sub *subject, w *work, rec *recorder) {
	w.unwritten = map[string]bool{}
	for _, item := range slices.Concat(w.lent, w.items) {
		id := item.Spec.ID
		if !w.recorded[id] && (w.roots[id] || s.refuses(sub, item.Spec, rec)) {
			w.unwritten[id] = true
			rec.book.ignore(id)
		}
	}
}

// merge adds to the items of our own ledger those of root's that it lacks.
func merge(own, more []engine.Item, recorded map[string]bool) []engine.Item {
	mark(recorded, own)
	for _, item := range more {
		if !recorded[item.Spec.ID] {
			own = append(own, item)
		}
	}
	return own
}

func mark(recorded map[string]bool, items []engine.Item) {
	for _, item := range items {
		recorded[item.Spec.ID] = true
	}
}
