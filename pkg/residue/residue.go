// Package residue is the contract between the engine and the kinds of
// residue: what a spec, a residue, a kind and a cleaner are, and which errors
// a cleaner answers with. It has no clients of its own.
package residue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"time"
)

// Phase orders the work of one cleanup; see the constants.
type Phase int

// The phases, in order. Data goes before locks because the next job enters
// when the lock opens; credentials go last because the others may need them.
const (
	Processes Phase = iota + 1
	Data
	Locks
	Credentials
)

// Spec is one selector of a step, expanded and self-contained: all that is
// needed to clean it later without the unit file. It never holds a secret,
// only references to some.
type Spec struct {
	ID       string              `json:"id"`                 // of the content; see Identify
	Name     string              `json:"name,omitempty"`     // the step's Name=, for people
	Kind     string              `json:"kind"`               // "path"
	Selector string              `json:"selector"`           // the plan key: "Remove"
	Value    string              `json:"value"`              // what that key selects, expanded
	Options  map[string][]string `json:"options,omitempty"`  // the step's other keys, expanded, defaults resolved
	When     []string            `json:"when,omitempty"`     // When= words; empty means always
	Timeout  time.Duration       `json:"timeout,omitempty"`  // the step's own TimeoutSec=; 0 means none
	Phase    Phase               `json:"phase"`              // from the selector's row in the kind's table
	Rank     int                 `json:"rank,omitempty"`     // order within the phase; equal ranks run side by side
	FromEnv  bool                `json:"from_env,omitempty"` // text of the job's environment stands in it: no root rights for a User= unit
	Source   string              `json:"source,omitempty"`   // FILE:LINE, or "--step", for messages
	Facts    map[string]string   `json:"facts,omitempty"`    // what a Preparer learned before the job
	Tracked  *Residue            `json:"tracked,omitempty"`  // set: Find resolves exactly this and lists nothing
}

// Identify sets the ID to a digest of what the spec selects, so that the same
// step recorded twice is one spec. Position, limits and facts do not count.
func (s *Spec) Identify() {
	tracked := ""
	if s.Tracked != nil {
		r := *s.Tracked
		r.Identify()
		tracked = r.ID
	}
	s.ID = digest("spec", s.Kind, s.Selector, s.Value, s.Options, s.When, tracked)
}

// Option returns the last value of a single-valued option, "" when unset.
func (s Spec) Option(key string) string {
	if v := s.Options[key]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

// Residue is one concrete thing left by a job: identity and proof, never a
// secret.
type Residue struct {
	ID      string            `json:"id"`              // of the content; see Identify
	Type    string            `json:"type"`            // the selector's Type: "path", "mount", …
	Ref     string            `json:"ref"`             // how a person names it: a path, an upload URL, a unit
	Proof   map[string]string `json:"proof,omitempty"` // device, inode, birth time; an upload id; empty: an intent, found by name
	Expires time.Time         `json:"expires,omitzero"`
}

// Identify sets the ID to a digest of type, reference and proof.
func (r *Residue) Identify() { r.ID = digest("residue", r.Type, r.Ref, r.Proof) }

// digest hashes its arguments to 16 hexadecimal digits: enough to tell apart
// what one job left. Names of files are any bytes, so they are quoted byte by
// byte; maps print in the order of their keys.
func digest(parts ...any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%+q", parts))
	return hex.EncodeToString(sum[:8])
}

// Cleaner finds and removes the residue of one spec.
//
// Both methods may be called again at any time, also after a success, and
// from several goroutines for different residues. They return soon after the
// context ends. Errors are *Error, or are treated as retryable.
//
// A cleaner that keeps a connection from one call to the next is an io.Closer
// too; see Close.
type Cleaner interface {
	// Find reads only. No residue and no error is a proof that nothing is
	// there; whatever keeps it from being sure is an error. Partial results
	// may come with an error.
	Find(context.Context) ([]Residue, error)

	// Remove removes one residue that Find returned, now or in an earlier
	// process. Nil means removed; that it was gone already is an *Error of
	// class Gone.
	Remove(context.Context, Residue) error
}

// Close ends what a cleaner keeps between its calls, if it is an io.Closer.
// Whoever opened a cleaner closes it after the last call. A call that was given
// up may still be under way, or come later: it neither keeps Close waiting nor
// leaves anything open when it is over. What Close answers does not count,
// since nothing is owed by then.
func Close(c Cleaner) {
	if closer, ok := c.(io.Closer); ok {
		_ = closer.Close()
	}
}

// Deferrer is a Cleaner that may put a removal off: Remove then takes the
// residue out of the way and answers with reason Deferred.
type Deferrer interface {
	// Aside reports whether a residue is out of the way already and only waits
	// to be deleted: it is there, proof fits, and no later invocation can take it
	// for its own. It reads only.
	Aside(context.Context, Residue) bool
}

// Endpointer is a Cleaner that talks to a server. Cleaners with the same
// endpoint share one time-out when it is dead.
type Endpointer interface{ Endpoint() string }

// Preparer is a Cleaner that can learn something before the job runs that
// nobody can learn afterwards (the mount a path lies on, a token's accessor).
// What it returns is recorded in Spec.Facts and must not be secret.
type Preparer interface {
	Prepare(context.Context) (map[string]string, error)
}

// Prover is a Cleaner that can record proof of identity while the job still
// runs, for track. The spec it was opened with tracks a residue of type and
// reference alone; Prove reads only, and returns that residue with what proof
// there is now. No proof and no error is an intent: not there yet.
type Prover interface {
	Prove(context.Context) (Residue, error)
}
