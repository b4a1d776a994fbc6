package engine

import (
	"context"
	"errors"
	"sort"
	"time"

	"job-cleanup/pkg/residue"
)

// Limits of one cleanup.
const (
	DefaultTotal = 60 * time.Second // when neither plan nor unit says otherwise
	CallLimit    = 10 * time.Second // one call to a server
	Grace        = 5 * time.Second  // for calls under way when we are told to stop
)

// Budget is the time one cleanup may take.
type Budget struct {
	Total time.Duration // 0 means DefaultTotal; less, that the time is over already
	Call  time.Duration // one call to a server; 0 means CallLimit
}

// The causes by which a context of ours ends.
var (
	errTotal = errors.New("the time for the cleanup is over")
	errStep  = errors.New("the time for this step is over")
	errCall  = errors.New("no answer in time")
	errDrain = errors.New("told to stop")
)

// clock holds the contexts of a cleanup that has begun. Processes and data end
// a quarter early, so that a huge tree can't keep a token alive.
type clock struct {
	early, whole         context.Context
	stopEarly, stopWhole context.CancelFunc
}

func (b Budget) start(ctx context.Context) clock {
	total := b.Total
	if total == 0 {
		total = DefaultTotal
	}
	var c clock
	c.whole, c.stopWhole = context.WithTimeoutCause(ctx, total, errTotal)
	c.early, c.stopEarly = context.WithTimeoutCause(c.whole, total-total/4, errTotal)
	return c
}

func (c clock) stop() {
	c.stopEarly()
	c.stopWhole()
}

// of returns the context that a phase runs under.
func (c clock) of(phase residue.Phase) context.Context {
	if phase >= residue.Locks {
		return c.whole
	}
	return c.early
}

func (b Budget) call() time.Duration {
	if b.Call > 0 {
		return b.Call
	}
	return CallLimit
}

// drained returns a context that ends with ctx, or Grace after drain closed.
func drained(ctx context.Context, drain <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-ctx.Done():
			return
		case <-drain:
		}
		grace := time.NewTimer(Grace)
		defer grace.Stop()
		select {
		case <-ctx.Done():
		case <-grace.C:
			cancel(errDrain)
		}
	}()
	return ctx, func() { cancel(nil) }
}

// waves groups tasks of equal phase and rank, in order; the order of a plan is
// kept inside a wave.
func waves(tasks []task) [][]task {
	sort.SliceStable(tasks, func(i, j int) bool { return before(tasks[i], tasks[j]) })
	var all [][]task
	for i, t := range tasks {
		if i == 0 || before(tasks[i-1], t) {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], t)
	}
	return all
}

func before(a, b task) bool {
	if a.Spec.Phase != b.Spec.Phase {
		return a.Spec.Phase < b.Spec.Phase
	}
	return a.Spec.Rank < b.Spec.Rank
}
