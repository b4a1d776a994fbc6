package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"job-cleanup/pkg/engine"
	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/manager"
	"job-cleanup/pkg/outcome"
	"job-cleanup/pkg/residue"
)

// What jobs wrote into ledgers of their own is looked at and tried by processes
// with those jobs' rights; see asjob.go. Root only tells them which units are
// meant, keeps those units from being armed meanwhile, and removes folders that
// nothing is in.

// The uids that systemd gives to DynamicUser= units, and takes back.
const (
	dynamicFirst = 61184
	dynamicLast  = 65519
)

// sweepOrder is what such a process is told to look for in ledgers that jobs
// wrote.
type sweepOrder struct {
	Units   []string // only tell what is due in these; else do it in the order's unit
	Eager   bool
	Local   bool
	Running bool      // the unit may be active: leave what may be the new invocation's
	Aside   bool      // only what stands aside
	Before  time.Time // what is found by name must have been there then
	Except  string    // the unit's current invocation, which is none of this
	Dead    []string  // servers that did not answer a process of this owner
}

// found is what it answers about a ledger or a folder.
type found struct {
	Unit  string    `json:"unit"`
	Since time.Time `json:"since,omitzero"` // the longest due of its debts
	Empty bool      `json:"empty,omitempty"`
	Aside bool      `json:"aside,omitempty"` // something of it stands aside
}

// folders tries what is due in the folders of jobs. A dynamic user's has to
// wait for the unit's next run: the number may be somebody else's by now.
func (p *pass) folders(ctx context.Context) bool {
	ok := true
	owners := map[residue.Identity][]string{}
	for folder, err := range ledger.Jobs(p.shared).Units(ctx) {
		if err != nil {
			p.complain("", err)
			ok = false
			continue
		}
		who := residue.Identity{UID: folder.UID, GID: folder.GID}
		switch {
		case folder.UID == 0:
		case folder.UID >= dynamicFirst && folder.UID <= dynamicLast:
			_, err := p.folder(ctx, who, found{Unit: folder.Unit, Empty: true}, nil)
			ok = ok && err == nil
		default:
			owners[who] = append(owners[who], folder.Unit)
		}
	}
	for who, units := range owners {
		if stopped(p.drain) {
			break
		}
		if err := p.owner(ctx, who, units); err != nil {
			p.trouble(fmt.Sprintf("the ledgers of uid %d", who.UID), err)
			ok = false
		}
	}
	return ok
}

// owner tries what is due in the folders of one user, unit by unit.
func (p *pass) owner(ctx context.Context, who residue.Identity, units []string) error {
	j := &jobProcess{exe: self, order: order{State: p.shared, Total: listLimit, Sweep: &sweepOrder{Units: units, Eager: p.eager, Local: p.local}}}
	err := j.run(ctx, nil, who)
	slices.SortStableFunc(j.found, func(a, b found) int { return a.Since.Compare(b.Since) })
	var dead []string
	done := map[string]bool{}
	for _, f := range j.found {
		if stopped(p.drain) || done[f.Unit] || !slices.Contains(units, f.Unit) {
			continue
		}
		done[f.Unit] = true
		more, unitErr := p.folder(ctx, who, f, dead)
		dead, err = append(dead, more...), errors.Join(err, unitErr)
	}
	return err
}

// folder tries what is due in one unit's folder, or removes it when nothing is
// in it and the unit is not active. It returns the servers that did not answer.
func (p *pass) folder(ctx context.Context, who residue.Identity, f found, dead []string) ([]string, error) {
	release, err := p.lock(ctx, ledger.Root(p.shared, -1), f.Unit)
	if errors.Is(err, ledger.ErrBusy) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer release()
	running := p.runs(ctx, f.Unit, false)
	var j *jobProcess
	if !f.Empty {
		j, err = p.tracked(ctx, who, ledger.Job{Job: residue.Job{Unit: f.Unit}}, sweepOrder{Running: running, Before: time.Now(), Dead: dead})
	}
	if !running {
		err = errors.Join(err, ledger.Jobs(p.shared).Prune(f.Unit))
	}
	if j == nil {
		return nil, err
	}
	if slices.ContainsFunc(j.found, func(of found) bool { return of.Aside }) {
		p.waiting = append(p.waiting, waiting{unit: f.Unit, owner: who})
	}
	return j.dead, err
}

// earlierTracked settles what jobs of earlier invocations tracked, as root
// before the subject's job begins, or after it.
func (p *pass) earlierTracked(ctx context.Context, sub *subject) {
	_, err := p.tracked(ctx, *sub.job.User, ledger.Job{Job: residue.Job{Unit: sub.job.Unit}},
		sweepOrder{Running: !sub.hook, Before: sub.job.Start, Except: sub.job.Invocation})
	if err != nil {
		p.trouble("what earlier jobs tracked", err)
	}
}

// tracked has the ledgers of one unit's folder worked off with their owner's
// rights.
func (p *pass) tracked(ctx context.Context, who residue.Identity, job ledger.Job, o sweepOrder) (*jobProcess, error) {
	o.Eager, o.Local = p.eager, p.local
	total := p.budget.Total
	if total <= 0 {
		total = engine.DefaultTotal
	}
	began := time.Now()
	j := &jobProcess{exe: self, rec: newRecorder(nil, p.journal, job.Job), order: order{
		Job: job, State: p.shared, Runtime: p.runtime, Total: total, Sweep: &o,
	}}
	p.progress.expect(job.Unit, nil)
	err := j.run(ctx, p.drain, who)
	if len(j.sum.Count) > 0 {
		j.rec.job.Invocation = ""
		j.rec.summary(j.sum, time.Since(began))
	}
	return j, err
}

// runs reports whether a unit may be active, in whatever invocation.
func (s *site) runs(ctx context.Context, unit string, user bool) bool {
	ctx, cancel := context.WithTimeout(ctx, managerLimit)
	defer cancel()
	conn, err := s.dial(ctx, user)
	if err != nil {
		return true
	}
	defer conn.Close()
	life, err := conn.Live(ctx, unit)
	return err != nil || life.State != manager.Over
}

// runSweepChild is the other side of owner and tracked, with the job's rights.
func runSweepChild(ctx context.Context, s *site, drain <-chan struct{}, o order, out *answers) error {
	p := s.newPass(ctx, drain)
	p.eager, p.local, p.emptying = o.Sweep.Eager, o.Sweep.Local, o.Sweep.Aside
	p.budget.Total = o.Total
	store := ledger.Jobs(s.shared)
	if o.Sweep.Units != nil {
		for _, unit := range o.Sweep.Units {
			if err := p.tell(ctx, store, unit, out); err != nil {
				return err
			}
		}
		return nil
	}
	p.endpoints.Bury(o.Sweep.Dead...)
	if o.Sweep.Except != "" {
		p.current(o.Job.Unit, o.Sweep.Except)
		p.inside = true
	}
	p.recorder = func(r *recorder) engine.Recorder {
		return &childRecorder{recorder: r, out: out, all: true}
	}
	for entry, err := range store.Ledgers(ctx, o.Job.Unit) {
		if stopped(drain) {
			break
		}
		if err == nil && entry.Damaged == 0 && entry.Invocation != o.Sweep.Except {
			p.ofJob(ctx, store, entry, *o.Sweep)
		}
	}
	if len(p.waiting) > 0 {
		if err := out.write(answer{Found: &found{Unit: o.Job.Unit, Aside: true}}); err != nil {
			return err
		}
	}
	return out.write(answer{Dead: p.endpoints.Dead()})
}

// tell answers what is due in a unit's folder.
func (p *pass) tell(ctx context.Context, store *ledger.Store, unit string, out *answers) error {
	f := found{Unit: unit, Empty: true}
	due := false
	for entry, err := range store.Ledgers(ctx, unit) {
		f.Empty = false
		if err != nil || entry.Damaged > 0 || p.sleeps(entry) {
			continue
		}
		since, now, err := p.look(ctx, store, entry)
		if err == nil && now && (!due || since.Before(f.Since)) {
			f.Since, due = since, true
		}
	}
	if f.Empty {
		p.tidy(ctx, store, unit) // the folder itself is root's to remove
	}
	if !due && !f.Empty {
		return nil
	}
	return out.write(answer{Found: &f})
}

// ofJob tries what is due in one ledger of a job, as that job's user.
func (p *pass) ofJob(ctx context.Context, store *ledger.Store, entry ledger.Entry, o sweepOrder) {
	led, err := store.Ledger(entry.Unit, entry.Invocation)
	if err != nil {
		return
	}
	state, err := led.Replay(ctx)
	if err != nil {
		return
	}
	if over, _ := state.Over(p.probe); !over {
		return
	}
	debts := slices.DeleteFunc(p.due(state), func(d ledger.Debt) bool { return !mayTrack(d.Spec) })
	debts, aside := p.apart(ctx, state, debts)
	switch {
	case p.emptying:
		debts = aside
	case o.Running:
		debts = ownOnly(debts, entry.Invocation)
	}
	if state.Job.User == nil || int(state.Job.User.UID) != p.uid { // whatever the job wrote there
		state.Job.User = p.callerIdentity()
	}
	state.Ending = &ledger.Ending{Outcome: outcome.Outcome{Result: outcome.Lost}} // nothing of it depends on that
	sum := p.later(ctx, led, state, debts, o.Before)
	if !p.emptying && len(aside)+sum.Deferred > 0 {
		p.waiting = append(p.waiting, waiting{unit: entry.Unit})
	}
}
