package main

import (
	"context"
	"slices"
	"strings"

	"job-cleanup/pkg/engine"
	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/residue"
)

// onlyOwn keeps the items that can be no other invocation's than this one's.
func onlyOwn(items []engine.Item, invocation string) []engine.Item {
	return slices.DeleteFunc(items, func(item engine.Item) bool { return !owned(item, invocation) })
}

// ownOnly keeps the debts that can be no other invocation's.
func ownOnly(debts []ledger.Debt, invocation string) []ledger.Debt {
	whole := map[string]bool{}
	for _, item := range itemsFrom(debts) {
		whole[item.Spec.ID] = owned(item, invocation)
	}
	return slices.DeleteFunc(debts, func(d ledger.Debt) bool { return !whole[d.Spec.ID] })
}

// owned reports whether an item is certainly that of the invocation it was
// recorded for. Patterns belong to the unit, and so does what they found on
// this machine: a later invocation's mkdir -p takes an earlier one's folder,
// proof and all. arm settles that before the next job. It is the same on a
// server where nothing but a name tells whose a thing is.
func owned(item engine.Item, invocation string) bool {
	kind := kinds().Kind(item.Spec.Kind)
	if kind != nil {
		if sel, _ := kind.SelectorOf(item.Spec); sel.ByName {
			return carries(kind, sel, item.Spec, invocation)
		}
	}
	if tracked := item.Spec.Tracked; tracked != nil {
		return len(tracked.Proof) > 0 // else found by name
	}
	return item.Resolved && (kind == nil || !kind.Local)
}

// idLength is that of a manager's invocation id. A shorter one may stand in a
// name by chance.
const idLength = 32

// carries reports whether the id of the invocation stands in what a spec
// selects by, so that no other invocation's can be meant.
func carries(kind *residue.Kind, sel residue.Selector, spec residue.Spec, invocation string) bool {
	if len(invocation) < idLength || sel.Value == residue.Words { // a command may do what it likes
		return false
	}
	if t := spec.Tracked; strings.Contains(spec.Value, invocation) || t != nil && strings.Contains(t.Ref, invocation) {
		return true
	}
	return slices.ContainsFunc(kind.Options, func(o residue.Option) bool {
		return o.Value == residue.Name && strings.Contains(spec.Option(o.Key), invocation)
	})
}

// bySecret reports whether it depends on a secret what a debt means. In a later
// invocation's hook that may be the later one's.
func bySecret(d ledger.Debt) bool {
	kind, tracked := kinds().Kind(d.Spec.Kind), d.Spec.Tracked
	if d.Residue != nil || tracked != nil && len(tracked.Proof) > 0 {
		return false
	}
	return kind != nil && slices.ContainsFunc(kind.Options, func(o residue.Option) bool {
		return o.Identifies && d.Spec.Option(o.Key) != ""
	})
}

// ready keeps a pass from what may be another invocation's by the time that it
// comes to it: a unit that is not active may start at any moment. What is on
// this machine is told apart by its time of birth.
func (p *pass) ready(ctx context.Context, state *ledger.State) func(engine.Item) error {
	if state.Job.Witness != ledger.ByManager || p.inside {
		return nil
	}
	return func(item engine.Item) error {
		if isLocal(item.Spec) || owned(item, state.Job.Invocation) || !p.unitRuns(ctx, state) {
			return nil
		}
		return residue.Errorf(residue.Retry, residue.InUse, "%w", errRunsAgain)
	}
}
