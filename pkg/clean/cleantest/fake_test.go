package cleantest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
)

// shelf is a server in memory with things on it, and a kind that cleans them
// with at most one defect.
type shelf struct {
	mu     sync.Mutex
	things map[string]string
	down   bool
	looks  int
	defect string
	first  *shelfCleaner
}

func newShelf(defect string) *shelf { return &shelf{things: map[string]string{}, defect: defect} }

func (w *shelf) put(ref, what string) { w.mu.Lock(); defer w.mu.Unlock(); w.things[ref] = what }
func (w *shelf) setDown(down bool)    { w.mu.Lock(); defer w.mu.Unlock(); w.down = down }

func (w *shelf) has(ref string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.things[ref]
	return ok
}

func (w *shelf) take(ref string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.things[ref]
	delete(w.things, ref)
	return ok
}

func (w *shelf) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(slices.Sorted(maps.Keys(w.things)), " ")
}

func (w *shelf) kind() *residue.Kind {
	return &residue.Kind{
		Name:      "shelf",
		Selectors: []residue.Selector{{Key: "Take", Type: "thing", Phase: residue.Data}},
		Open: func(spec residue.Spec, deps residue.Deps) (residue.Cleaner, error) {
			key, err := deps.Secret("file:/key")
			c := &shelfCleaner{w: w, spec: spec, key: key}
			if w.first == nil {
				w.first = c
			}
			return c, err
		},
	}
}

type shelfCleaner struct {
	w    *shelf
	spec residue.Spec
	key  secret.Text
}

// is reports whether the shelf has that defect.
func (c *shelfCleaner) is(defect string) bool { return c.w.defect == defect }

// access is what keeps a call from being answered.
func (c *shelfCleaner) access(ctx context.Context) error {
	c.w.mu.Lock()
	down := c.w.down
	c.w.mu.Unlock()
	switch {
	case ctx.Err() != nil && c.is("cancelled hangs"), down && c.is("down hangs"):
		hang()
		return residue.Errorf(residue.Retry, residue.Timeout, "late")
	case ctx.Err() != nil:
		return residue.Errorf(residue.Retry, residue.Cancelled, "not asked")
	case down:
		return residue.Errorf(residue.Unreachable, residue.NoAnswer, "no answer")
	case c.key.Reveal() != canary && c.is("leaks in an error"):
		return residue.Errorf(residue.Retry, residue.Permission, "denied; the key is %s", canary)
	case c.key.Reveal() != canary:
		return residue.Errorf(residue.Retry, residue.Permission, "denied")
	}
	return nil
}

func (c *shelfCleaner) Find(ctx context.Context) ([]residue.Residue, error) {
	if err := c.access(ctx); err != nil {
		if c.is("down is empty") || c.is("cancelled finds nothing") && ctx.Err() != nil {
			return nil, nil
		}
		return nil, err
	}
	ref := c.spec.Value
	if c.spec.Tracked != nil {
		ref = c.spec.Tracked.Ref
	}
	if !c.w.has(ref) {
		return nil, nil
	}
	return c.found(ref), nil
}

// found is what Find returns for a thing that is there, defects included.
func (c *shelfCleaner) found(ref string) []residue.Residue {
	r := residue.Residue{Type: "thing", Ref: ref, Proof: map[string]string{"by": "name"}}
	switch c.w.defect {
	case "wrong type":
		r.Type = "other"
	case "leaks in a proof":
		r.Proof["key"] = canary
	case "new id every time":
		c.w.looks++
		r.Proof["look"] = fmt.Sprint(c.w.looks)
	case "look writes":
		c.w.put("dust", "")
	case "look removes":
		defer c.w.take(ref)
	case "finds twice":
		return []residue.Residue{r, r}
	case "tracked lists all":
		return []residue.Residue{r, {Type: "thing", Ref: ref + "0"}}
	}
	return []residue.Residue{r}
}

func (c *shelfCleaner) Remove(ctx context.Context, r residue.Residue) error {
	if err := c.access(ctx); err != nil {
		return c.unanswered(ctx, err)
	}
	switch {
	case c.is("removes nothing"), c.is("remembers in the process") && c != c.w.first:
		return nil
	case c.is("removes the neighbours"):
		c.w.take(r.Ref + "0")
	}
	if c.w.take(r.Ref) || c.is("again is removed") {
		return nil
	}
	if c.is("again is an error") || c.is("second is refused") {
		return residue.Errorf(residue.Refused, residue.Other, "not there")
	}
	return residue.ErrGone
}

// unanswered is the error of a call that failed, or what a defect makes of it.
func (c *shelfCleaner) unanswered(ctx context.Context, err error) error {
	c.w.mu.Lock()
	down := c.w.down
	c.w.mu.Unlock()
	switch {
	case ctx.Err() != nil && c.is("cancelled is done"):
		return nil
	case ctx.Err() != nil && c.is("cancelled is refused"):
		return residue.Errorf(residue.Refused, residue.Cancelled, "no")
	case down && c.is("down is gone"), c.is("denied is gone"):
		return residue.ErrGone
	case down && c.is("down is closed"):
		return residue.Errorf(residue.Refused, residue.NoAnswer, "no")
	}
	return err
}

// hang is a call that does not end when it is told to.
func hang() { <-time.After(200 * time.Millisecond) }
