package consul_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"testing"

	"job-cleanup/pkg/clean/cleantest"
	"job-cleanup/pkg/clean/consul"
	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
	"job-cleanup/test/servers"
)

// place is a real server.
type place struct {
	*servers.ConsulServer
	t *testing.T
}

func newPlace(t *testing.T) place { return place{servers.Consul(t), t} }

// must calls the server's API and wants "200".
func (p place) must(method, path, body string) string {
	p.t.Helper()
	status, text := p.Do(method, path, body)
	if status != 200 {
		p.t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
	return text
}

// session makes a session.
func (p place) session(name, behavior string) string {
	p.t.Helper()
	var made struct{ ID string }
	text := p.must("PUT", "session/create", fmt.Sprintf(`{"Name":%q,"Behavior":%q}`, name, behavior))
	if err := json.Unmarshal([]byte(text), &made); err != nil {
		p.t.Fatal(err)
	}
	return made.ID
}

// acquire takes a lock for a session.
func (p place) acquire(key, session string) bool {
	p.t.Helper()
	return strings.Contains(p.must("PUT", "kv/"+key+"?flags=7&acquire="+session, "value of "+key), "true")
}

// pair is a key as the server shows it.
type pair struct {
	Key, Session string
	Value        []byte
	Flags        uint64
}

// key reads a key, nil when there is none.
func (p place) key(key string) *pair {
	p.t.Helper()
	status, text := p.Do("GET", "kv/"+(&url.URL{Path: key}).EscapedPath(), "")
	if status == 404 {
		return nil
	}
	var pairs []pair
	if err := json.Unmarshal([]byte(text), &pairs); err != nil || len(pairs) != 1 {
		p.t.Fatalf("key %q: %d %s", key, status, text)
	}
	return &pairs[0]
}

// exists reports whether there is a session.
func (p place) exists(session string) bool {
	p.t.Helper()
	return strings.Contains(p.must("GET", "session/info/"+session, ""), session)
}

func (p place) spec(selector, value string, options map[string]string) residue.Spec {
	s := residue.Spec{Kind: "consul", Selector: selector, Value: value, Options: map[string][]string{
		"Address": {strings.TrimPrefix(p.Address, "http://")}, "Token": {"file:/token"}, "TLS": {"no"},
	}}
	for key, option := range options {
		s.Options[key] = []string{option}
	}
	return s
}

func (p place) deps(token string) residue.Deps {
	return residue.Deps{Secret: func(string) (secret.Text, error) { return secret.New(token), nil }}
}

// subject is what all subjects have in common. Each residue has a word of its
// own in its name.
func (p place) subject(s cleantest.Subject) cleantest.Subject {
	s.Kind = consul.Kind
	s.Deps = func(testing.TB) residue.Deps { return p.deps(p.Token) }
	s.WrongCredentials = func(testing.TB) residue.Deps { return p.deps("00000000-1111-2222-3333-444444444444") }
	s.State = func(testing.TB, string) string {
		_, keys := p.Do("GET", "kv/?recurse", "")
		return keys + p.must("GET", "session/list", "")
	}
	s.Decoy = p.decoy
	s.Down, s.Up = func(testing.TB) { p.Stop() }, func(testing.TB) { p.Start() }
	s.Secrets = []string{p.Token}
	return s
}

// decoy is another job's lock, session and data, under names that begin alike.
func (p place) decoy(_ testing.TB, ref string) func() error {
	base := strings.TrimSuffix(ref, "/") + "0"
	session := p.session(base, "release")
	p.acquire(base+"/lock", session)
	p.must("PUT", "kv/"+base, "data")
	return func() error {
		lock, data := p.key(base+"/lock"), p.key(base)
		if !p.exists(session) || lock == nil || lock.Session != session || data == nil || string(data.Value) != "data" {
			return errors.New("somebody else's session, lock or key is not as it was")
		}
		return nil
	}
}

func word() string { return strings.ToLower(rand.Text()) }

func TestConformance(t *testing.T) {
	p := newPlace(t)
	t.Run("lock", func(t *testing.T) { cleantest.Run(t, p.lock("release")) })
	t.Run("ephemeral lock", func(t *testing.T) { cleantest.Run(t, p.lock("delete")) })
	t.Run("semaphore", func(t *testing.T) { cleantest.Run(t, p.semaphore()) })
	t.Run("session by name", func(t *testing.T) { cleantest.Run(t, p.sessionByName()) })
	t.Run("session by id", func(t *testing.T) { cleantest.Run(t, p.sessionByID()) })
	t.Run("keys", func(t *testing.T) { cleantest.Run(t, p.keys()) })
}

func (p place) lock(behavior string) cleantest.Subject {
	held := map[string]string{}
	return p.subject(cleantest.Subject{
		Spec: func(key string) residue.Spec {
			return p.spec("ReleaseLock", key, map[string]string{"SessionName": "job " + key})
		},
		Make: func(t testing.TB) string {
			key := "locks/" + word()
			held[key] = p.session("job "+key, behavior)
			if !p.acquire(key, held[key]) {
				t.Fatal("the lock is not to be had")
			}
			return key
		},
		Exists: func(t testing.TB, key string) bool {
			k := p.key(key)
			if behavior == "release" && (k == nil || string(k.Value) != "value of "+key || k.Flags != 7) {
				t.Errorf("the key %q is %+v, want it to stay", key, k)
			}
			return k != nil && k.Session == held[key] || behavior == "delete" && k != nil
		},
		Remove: func(_ testing.TB, key string) {
			p.must("PUT", "kv/"+key+"?flags=7&release="+held[key], "value of "+key)
			p.forget(key, behavior)
		},
	})
}

// forget deletes a key that would go with its session.
func (p place) forget(key, behavior string) {
	if behavior == "delete" {
		p.must("DELETE", "kv/"+key, "")
	}
}

// semaphoreFlag is what marks the keys of a semaphore.
const semaphoreFlag = "16210313421097356768"

func (p place) semaphore() cleantest.Subject {
	ours, others := map[string]string{}, map[string]string{}
	holders := func(prefix string) map[string]bool {
		var lock struct{ Holders map[string]bool }
		if k := p.key(prefix + "/.lock"); k != nil {
			_ = json.Unmarshal(k.Value, &lock)
		}
		return lock.Holders
	}
	return p.subject(cleantest.Subject{
		Spec: func(prefix string) residue.Spec {
			return p.spec("ReleaseSemaphore", prefix, map[string]string{"SessionName": "job " + prefix})
		},
		Make: func(testing.TB) string {
			prefix := "slots/" + word()
			ours[prefix] = p.session("job "+prefix, "delete")
			other := p.session("another", "delete")
			others[prefix] = other
			for _, session := range []string{ours[prefix], other} {
				p.must("PUT", "kv/"+prefix+"/"+session+"?flags="+semaphoreFlag+"&acquire="+session, "")
			}
			text := fmt.Sprintf(`{"Limit":3,"Holders":{%q:true,%q:true},"More":{"kept":1}}`, ours[prefix], other)
			p.must("PUT", "kv/"+prefix+"/.lock?flags="+semaphoreFlag, text)
			return prefix
		},
		Exists: func(t testing.TB, prefix string) bool {
			left := maps.Clone(holders(prefix))
			delete(left, ours[prefix])
			text := string(p.key(prefix + "/.lock").Value)
			if len(left) != 1 || !strings.Contains(text, `"Limit":3`) || !strings.Contains(text, `"More":{"kept":1}`) {
				t.Errorf("the semaphore is %s", text)
			}
			return holders(prefix)[ours[prefix]] || p.key(prefix+"/"+ours[prefix]) != nil
		},
		Remove: func(_ testing.TB, prefix string) {
			p.must("PUT", "kv/"+prefix+"/.lock?flags="+semaphoreFlag, fmt.Sprintf(`{"Limit":3,"Holders":{%q:true},"More":{"kept":1}}`, others[prefix]))
			p.must("DELETE", "kv/"+prefix+"/"+ours[prefix], "")
		},
	})
}

func (p place) sessionByName() cleantest.Subject {
	made := map[string]string{}
	return p.subject(cleantest.Subject{
		Spec:   func(name string) residue.Spec { return p.spec("DestroySession", name, nil) },
		Make:   func(testing.TB) string { name := "job-" + word(); made[name] = p.session(name, "release"); return name },
		Exists: func(_ testing.TB, name string) bool { return p.exists(made[name]) },
		Remove: func(_ testing.TB, name string) { p.must("PUT", "session/destroy/"+made[name], "") },
	})
}

func (p place) sessionByID() cleantest.Subject {
	return p.subject(cleantest.Subject{
		Spec:   func(id string) residue.Spec { return p.spec("DestroySession", id, nil) },
		Make:   func(testing.TB) string { return p.session("job", "release") },
		Exists: func(_ testing.TB, id string) bool { return p.exists(id) },
		Remove: func(_ testing.TB, id string) { p.must("PUT", "session/destroy/"+id, "") },
	})
}

func (p place) keys() cleantest.Subject {
	return p.subject(cleantest.Subject{
		Spec: func(prefix string) residue.Spec { return p.spec("DeleteKeys", prefix, nil) },
		Make: func(testing.TB) string {
			prefix := "jobs/" + word() + "/"
			for _, name := range []string{"a", "b/c", "odd %23%20%25%3f%2b"} {
				p.must("PUT", "kv/"+strings.ReplaceAll(prefix+name, " ", "%20"), "data")
			}
			return prefix
		},
		Exists: func(_ testing.TB, prefix string) bool {
			status, _ := p.Do("GET", "kv/"+prefix+"?keys", "")
			return status == 200
		},
		Remove: func(_ testing.TB, prefix string) { p.must("DELETE", "kv/"+prefix+"?recurse", "") },
	})
}

func opened(t *testing.T, spec residue.Spec, deps residue.Deps) residue.Cleaner {
	t.Helper()
	c, err := consul.Kind.Open(spec, deps)
	if err != nil {
		t.Fatalf("open %q: %v", spec.Value, err)
	}
	return c
}

// clean finds and removes, and is the verdict of what failed first.
func clean(t *testing.T, c residue.Cleaner) string {
	t.Helper()
	all, err := c.Find(context.Background())
	if err != nil {
		return "find: " + cleantest.Verdict(err)
	}
	if len(all) == 0 {
		return "nothing"
	}
	for _, r := range all {
		if got := cleantest.Verdict(c.Remove(context.Background(), r)); got != "removed" {
			return got
		}
	}
	return "removed"
}
