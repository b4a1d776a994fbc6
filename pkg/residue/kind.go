package residue

import (
	"fmt"
	"io"
	"sort"
	"strings"
	"time"

	"job-cleanup/pkg/outcome"
	"job-cleanup/pkg/secret"
)

// Kind is the code for one sort of residue. There is one value per kind,
// listed in clean/all.
type Kind struct {
	Name      string // lower case; the section is [X-Cleanup.Name]
	Doc       string // one sentence for the reference page
	Selectors []Selector
	Options   []Option
	// Local says that the residue is on this machine and can be told apart from
	// what a later invocation made: then arm settles it before the next job.
	Local bool
	// Open makes a cleaner for one spec. It checks the safety rules that need
	// no look at the world and resolves secrets, but sends and reads nothing
	// else. A broken rule is an *Error of class Refused.
	Open func(Spec, Deps) (Cleaner, error)
}

// Selector is a plan key that selects residue.
type Selector struct {
	Key     string // "Remove"
	Type    string // residue type, "path"; the noun of track is KIND-TYPE, or KIND where both are the same
	Value   Value
	Phase   Phase
	Rank    int  // order within the phase, from 0
	NoTrack bool // can't be tracked by a job
	// ByName says that nothing but its name tells what is found from what a
	// later invocation of the unit makes under that name, or takes over: while
	// one runs, it is left alone.
	ByName  bool
	Marks   []Mark // what track may be told beside the reference
	Done    string // what people are told of a removal: "stopped"; "" means "removed"
	Doc     string
	Example string

	// Front tells rows of one Key apart: this one is for the values that begin
	// with it ("lease:"), and the first row of the key for all others.
	Front string
}

// Mark is a detail of a tracked residue that only the job knows: an upload's
// id, the process that holds a lock. It goes into the residue's proof.
type Mark struct {
	Key string // as an option of track, without the dashes: "upload-id"
	Doc string
}

// Option is another key of the kind's section.
type Option struct {
	Key     string
	Value   Value
	Many    bool   // may stand several times, each adds one
	Default string // as written in a plan; "" for none
	// Identifies says that the secret itself tells which thing is meant: where it
	// stands, that of a later invocation may stand by now.
	Identifies bool
	Env        string // the environment variable that is the default's source, "" for none
	Doc        string
	Example    string
}

// Value is how the text of a key is read.
type Value int

// The values. Expanded text is literal in all of them.
const (
	String    Value = iota // free text
	Path                   // an absolute path
	Glob                   // an absolute path with * ? [ ] and \ as escape
	Words                  // split like an Exec line; expanded by the kind itself, recorded unexpanded
	UnitName               // a unit name, with * ? [ ]
	Bool                   // yes, no, true, false, on, off, 1, 0
	Span                   // a time span of systemd.time(7)
	Number                 // a decimal number
	SecretRef              // file:, env:, credential: or stash: and a name
	Prefix                 // a name prefix: ends in a delimiter and carries the job's identity
	Name                   // an exact name that carries the job's identity
)

// String is the word of the reference page.
func (v Value) String() string {
	names := [...]string{"string", "path", "glob", "command", "unit", "yes/no", "time span", "number", "secret reference", "prefix", "name"}
	if v < 0 || int(v) >= len(names) {
		return fmt.Sprintf("Value(%d)", int(v))
	}
	return names[v]
}

// Deps is what a cleaner is given beside its spec.
type Deps struct {
	Job    Job
	Secret func(ref string) (secret.Text, error) // resolves a SecretRef, with the owner's policy
	Env    outcome.Lookup                        // the job's environment as the hook saw it; nil in a sweep
	Output io.Writer                             // what a command prints; nil discards it
	Now    func() time.Time

	// Later reports whether a removal may be put off: what Find returned is
	// written down, and a sweep will come back to it. Nil means that it may not.
	Later func() bool
	// Gone is told how many more parts of a large residue are gone, for people
	// who wait for the rest. Nil for nobody; from any goroutine, and often.
	Gone func(parts int64)
	// Ordered reports whether what changes on a device, as in st_dev, reaches the
	// disk before what the ledger is told afterwards. On others Remove waits for
	// the disk (beneath.Flush) before it says that something is gone. Nil: there
	// is no ledger.
	Ordered func(dev uint64) bool
	// Idle asks for work that takes the disk and a processor only when nobody
	// else wants them.
	Idle bool
}

// Noun is what track calls the selector's residue: "path", "path-mount".
func (k *Kind) Noun(s Selector) string {
	if s.Type == k.Name {
		return k.Name
	}
	return k.Name + "-" + s.Type
}

// Selector returns the selector of a plan key, the first of its rows.
func (k *Kind) Selector(key string) (Selector, bool) {
	for _, s := range k.Selectors {
		if s.Key == key {
			return s, true
		}
	}
	return Selector{}, false
}

// SelectorOf returns the row that a spec was made by: its key alone does not
// say it where the key stands in several rows.
func (k *Kind) SelectorOf(spec Spec) (Selector, bool) {
	first, known := k.Selector(spec.Selector)
	for _, s := range k.Selectors {
		switch {
		case s.Key != spec.Selector:
		case spec.Tracked != nil && s.Type == spec.Tracked.Type,
			spec.Tracked == nil && s.Front != "" && strings.HasPrefix(spec.Value, s.Front):
			return s, true
		}
	}
	return first, known
}

// Registry is a set of kinds by name.
type Registry struct{ kinds map[string]*Kind }

// NewRegistry makes a registry. Two kinds of one name, or two selectors of one
// noun, panic: they are a mistake of the programmer.
func NewRegistry(kinds ...*Kind) *Registry {
	r := &Registry{kinds: map[string]*Kind{}}
	nouns := map[string]bool{}
	for _, k := range kinds {
		if r.kinds[k.Name] != nil {
			panic(fmt.Sprintf("kind %q is listed twice", k.Name))
		}
		r.kinds[k.Name] = k
		for _, s := range k.Selectors {
			if noun := k.Noun(s); nouns[noun] {
				panic(fmt.Sprintf("noun %q is listed twice", noun))
			} else {
				nouns[noun] = true
			}
		}
	}
	return r
}

// Kind returns the kind of a name, nil when there is none.
func (r *Registry) Kind(name string) *Kind { return r.kinds[name] }

// Kinds returns all kinds, by name.
func (r *Registry) Kinds() []*Kind {
	all := make([]*Kind, 0, len(r.kinds))
	for _, k := range r.kinds {
		all = append(all, k)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
}

// Noun returns the kind and selector that a noun of track means.
func (r *Registry) Noun(noun string) (*Kind, Selector, bool) {
	for _, k := range r.kinds {
		for _, s := range k.Selectors {
			if !s.NoTrack && k.Noun(s) == noun {
				return k, s, true
			}
		}
	}
	return nil, Selector{}, false
}
