// Package consul gives back what a job holds in Consul: locks and places in
// semaphores, the sessions behind them, and keys below a prefix of the job's.
//
// Only what is provably the job's is touched. A lock is ours while the session
// on its key is the recorded one, or one with the job's SessionName=; it is
// released with its value kept, before its session is destroyed, so that the
// next holder need not wait for a lock-delay. Keys go by check-and-set.
//
// Consul leaves what a token may not read out of its lists without a word, so
// an empty answer is believed only together with an answer that proves the
// right to see.
package consul

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"job-cleanup/pkg/residue"
)

// Kind cleans locks, semaphores, sessions and keys. The proof of a lock, of a
// place in a semaphore and of a session is the session's id; keys have none.
var Kind = &residue.Kind{
	Name:      "consul",
	Doc:       "Releases the job's locks and semaphores, destroys its sessions and deletes its keys in Consul.",
	Selectors: selectors,
	Options: []residue.Option{{
		Key: "Address", Value: residue.String, Env: "CONSUL_HTTP_ADDR", Default: defaultAddress,
		Doc: "The agent: HOST:PORT, http://, https:// or unix:// and a socket's path.", Example: "https://consul.example.org:8501",
	}, {
		Key: "TLS", Value: residue.Bool, Env: "CONSUL_HTTP_SSL", Default: "no",
		Doc: "Speak https to HOST:PORT.", Example: "yes",
	}, {
		Key: "CACert", Value: residue.Path, Env: "CONSUL_CACERT",
		Doc: "A PEM file with the authorities that the agent's certificate is checked with, instead of the machine's.", Example: "/etc/ssl/consul-ca.pem",
	}, {
		Key: "Token", Value: residue.SecretRef, Env: "CONSUL_HTTP_TOKEN",
		Doc: "The ACL token.", Example: "credential:consul",
	}, {
		Key: "SessionName", Value: residue.String,
		Doc:     "The name of the job's sessions: a name that no other job's have, on any machine.",
		Example: "batch-%i@%H",
	}, {
		Key: "Datacenter", Value: residue.String,
		Doc: "The datacenter, if not the agent's.", Example: "dc2",
	}, {
		Key: "Namespace", Value: residue.String, Env: "CONSUL_NAMESPACE",
		Doc: "The namespace (Enterprise).", Example: "team-a",
	}, {
		Key: "Partition", Value: residue.String, Env: "CONSUL_PARTITION",
		Doc: "The admin partition (Enterprise).", Example: "web",
	}},
	Open: open,
}

var selectors = []residue.Selector{{
	Key: "ReleaseLock", Type: "lock", Value: residue.String, Phase: residue.Locks, Rank: 0, Marks: sessionMark,
	Doc:     "A key that the job holds as a lock. It needs SessionName=, or when tracked the session. The key stays, unless its session is one that deletes what it holds.",
	Example: "locks/nightly",
}, {
	Key: "ReleaseSemaphore", Type: "semaphore", Value: residue.String, Phase: residue.Locks, Rank: 0, Marks: sessionMark,
	Doc:     "The prefix of a semaphore that the job holds or waits for; the holders stand in PREFIX/.lock. It needs SessionName=, or when tracked the session.",
	Example: "locks/slots",
}, {
	Key: "DestroySession", Type: "session", Value: residue.String, Phase: residue.Locks, Rank: 1,
	Doc:     "A session, by its id or its name; all of that name. Locks go first.",
	Example: "batch-%i@%H",
}, {
	Key: "DeleteKeys", Type: "keys", Value: residue.Prefix, Phase: residue.Data, ByName: true,
	Doc:     "All keys below a prefix. Those that another's session holds stay.",
	Example: "jobs/%i/",
}}

const defaultAddress = "127.0.0.1:8500"

var sessionMark = []residue.Mark{{Key: "session", Doc: "The id of the session that holds it, or will."}}

func open(spec residue.Spec, deps residue.Deps) (residue.Cleaner, error) {
	s, err := openSite(spec, deps)
	if err != nil {
		return nil, err
	}
	typ, value := "", spec.Value
	if t := spec.Tracked; t != nil {
		typ, value = t.Type, t.Ref
	}
	for _, sel := range selectors {
		if spec.Tracked == nil && sel.Key == spec.Selector {
			typ = sel.Type
		}
	}
	if err := checkName(spec.Option("SessionName"), true); err != nil {
		return nil, err
	}
	switch typ {
	case "lock":
		return s.lock(value)
	case "semaphore":
		return s.semaphore(value)
	case "session":
		return &sessionCleaner{site: s, value: value}, checkName(value, false)
	case "keys":
		return s.keys(value)
	}
	return nil, residue.Errorf(residue.Refused, residue.Other, "selector %q of kind consul is not known", spec.Selector)
}

// uuid is the form of a session's id.
var uuid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// everybodys are the names that Consul's own tools give to sessions when
// nobody names them.
var everybodys = []string{"Consul API Lock", "Consul API Semaphore", "Consul CLI Lock"}

// checkName refuses names of sessions that tell no job from another.
func checkName(name string, optional bool) error {
	switch {
	case name == "" && !optional:
		return residue.Errorf(residue.Refused, residue.Other, "a session without a name may be anybody's")
	case slices.Contains(everybodys, name):
		return residue.Errorf(residue.Refused, residue.Protected, "sessions named %q are anybody's; give the job's a name of its own", name)
	}
	return nil
}

// checkKey refuses texts that the server would read as another key: it tidies
// the path that a key is in.
func checkKey(key string) error {
	bad := key == "" || strings.HasPrefix(key, "/") || strings.Contains(key, "//") || !utf8.ValidString(key) ||
		strings.ContainsFunc(key, unicode.IsControl)
	for _, part := range strings.Split(key, "/") {
		bad = bad || part == "." || part == ".."
	}
	if bad {
		return residue.Errorf(residue.Refused, residue.Other, "%q is no plain key", key)
	}
	return nil
}

// checkSession checks the id of a recorded session, which may be missing when
// there is a name to find it by.
func (s *site) checkSession() error {
	id := s.recorded()
	switch {
	case id == "" && s.spec.Option("SessionName") == "":
		return residue.Errorf(residue.Refused, residue.Unset, "nobody says whose lock it is: set SessionName=, or track it with --session")
	case id != "" && !uuid.MatchString(id):
		return residue.Errorf(residue.Refused, residue.Other, "session %q is not the id of one", id)
	}
	return nil
}

// prove is the one thing that find sees now, where the job did not name its
// session; else what the job said, which is an intent.
func (s *site) prove(ctx context.Context, find func(context.Context) ([]residue.Residue, error)) (residue.Residue, error) {
	r := *s.spec.Tracked
	if s.recorded() != "" {
		return r, nil
	}
	if found, err := find(ctx); err == nil && len(found) == 1 {
		return found[0], nil
	}
	return r, nil
}

// recorded is the session that was recorded with a tracked residue.
func (s *site) recorded() string {
	if s.spec.Tracked == nil {
		return ""
	}
	return s.spec.Tracked.Proof["session"]
}

// residue is one that was found, as the job tracked it or as the plan names it.
func (s *site) residue(typ, ref, session string) residue.Residue {
	r := residue.Residue{Type: typ, Ref: ref}
	if t := s.spec.Tracked; t != nil {
		r = *t
	}
	if session != "" && r.Proof["session"] != session {
		r.Proof = map[string]string{"session": session}
	}
	r.Identify()
	return r
}
