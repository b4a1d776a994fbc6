package engine

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"job-cleanup/pkg/residue"
)

// Endpoints remembers which servers answer. The first call to one goes alone
// until it came back; when it was not answered the others do not try. The zero
// value knows none; several engines may share one, also at once.
type Endpoints struct {
	mu  sync.Mutex
	all map[string]*endpoint
}

type endpoint struct {
	turn chan struct{} // holds one token; taken while nobody knows whether it answers

	mu    sync.Mutex
	alive bool
	dead  *residue.Error
}

func (es *Endpoints) get(name string) *endpoint {
	es.mu.Lock()
	defer es.mu.Unlock()
	if es.all == nil {
		es.all = map[string]*endpoint{}
	}
	if es.all[name] == nil {
		es.all[name] = &endpoint{turn: make(chan struct{}, 1)}
	}
	return es.all[name]
}

// Dead lists the servers that did not answer, sorted.
func (es *Endpoints) Dead() []string {
	es.mu.Lock()
	defer es.mu.Unlock()
	var names []string
	for name, ep := range es.all {
		if ep.down(name) != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Bury notes that somebody else had no answer from these servers just now.
func (es *Endpoints) Bury(names ...string) {
	for _, name := range names {
		es.get(name).learn(&residue.Error{Class: residue.Unreachable, Reason: residue.NoAnswer})
	}
}

// enter waits until a call to the caller's endpoint may be made. The returned
// function takes the answer of that call.
func (es *Endpoints) enter(c caller) (release func(error), err error) {
	if c.endpoint == "" {
		return func(error) {}, nil
	}
	ep := es.get(c.endpoint)
	if ep.answers() {
		return ep.learn, nil
	}
	if err := c.wait(ep.turn); err != nil {
		return nil, err
	}
	leave := func() { <-ep.turn }
	if err := ep.down(c.endpoint); err != nil {
		leave()
		return nil, err
	}
	if ep.answers() { // the one before us found out
		leave()
		return ep.learn, nil
	}
	return func(answer error) {
		ep.learn(answer)
		leave()
	}, nil
}

func (ep *endpoint) answers() bool {
	ep.mu.Lock()
	defer ep.mu.Unlock()
	return ep.alive
}

// down answers for a dead endpoint without asking it again.
func (ep *endpoint) down(name string) error {
	ep.mu.Lock()
	defer ep.mu.Unlock()
	if ep.dead == nil {
		return nil
	}
	cause := fmt.Errorf("not tried: %s did not answer an earlier call", name)
	return &residue.Error{Class: residue.Unreachable, Reason: ep.dead.Reason, Err: notTried{cause}}
}

// learn takes the answer of a call. One that was never made says nothing.
func (ep *endpoint) learn(answer error) {
	if neverTried(answer) {
		return
	}
	ep.mu.Lock()
	defer ep.mu.Unlock()
	var e *residue.Error
	if errors.As(answer, &e) && e.Class == residue.Unreachable {
		ep.dead, ep.alive = e, false
		return
	}
	ep.alive = ep.dead == nil
}
