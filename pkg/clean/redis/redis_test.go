package redis

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"job-cleanup/pkg/clean/cleantest"
	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
)

const (
	lockToken = "t0ken-c4nary"
	odd       = `job[1]*?^\{x}`
)

var serial atomic.Int64

func fresh(stem string) string { return fmt.Sprintf("%s:%d", stem, serial.Add(1)) }

func depsOf(password string) residue.Deps {
	return residue.Deps{Now: time.Now, Secret: func(ref string) (secret.Text, error) {
		switch ref {
		case "file:/token":
			return secret.New(lockToken), nil
		case "file:/password":
			return secret.New(password), nil
		}
		return secret.Text{}, residue.Errorf(residue.Retry, residue.NoCredentials, "no secret %q", ref)
	}}
}

func specOf(address, selector, value string, pairs ...string) residue.Spec {
	spec := residue.Spec{Kind: "redis", Selector: selector, Value: value, Options: map[string][]string{"Address": {address}, "Password": {"file:/password"}}}
	for i := 0; i < len(pairs); i += 2 {
		spec.Options[pairs[i]] = []string{pairs[i+1]}
	}
	spec.Identify()
	return spec
}

func opened(t *testing.T, w world, selector, value string, pairs ...string) residue.Cleaner {
	t.Helper()
	c, err := Kind.Open(specOf(w.Address, selector, value, pairs...), depsOf(w.Password))
	if err != nil {
		t.Fatalf("open %s=%q: %v", selector, value, err)
	}
	return c
}

// clean finds one residue and removes it.
func clean(t *testing.T, c residue.Cleaner) error {
	t.Helper()
	found, err := c.Find(background)
	if err != nil {
		return err
	}
	if len(found) != 1 {
		t.Fatalf("found %d, want 1: %+v", len(found), found)
	}
	return c.Remove(background, found[0])
}

func want(t *testing.T, what string, err error, word string) {
	t.Helper()
	if got := cleantest.Verdict(err); got != word {
		t.Errorf("%s: %s, want %s (%v)", what, got, word, err)
	}
}

// subject is what the selectors have in common.
func subject(w world, selector string, pairs ...string) cleantest.Subject {
	return cleantest.Subject{
		Kind:             Kind,
		Spec:             func(ref string) residue.Spec { return specOf(w.Address, selector, ref, pairs...) },
		Deps:             func(testing.TB) residue.Deps { return depsOf(w.Password) },
		WrongCredentials: func(testing.TB) residue.Deps { return depsOf("wrong") },
		Secrets:          []string{w.Password, lockToken},
		Down:             func(testing.TB) { w.Stop() },
		Up:               func(testing.TB) { w.Start() },
		State: func(t testing.TB, _ string) string {
			n, err := w.DBSize(background).Result()
			return fmt.Sprint(n, err)
		},
	}
}

func TestConformance(t *testing.T) {
	w := real(t)
	t.Run("DeleteKeys", func(t *testing.T) {
		s := subject(w, "DeleteKeys")
		s.Make = func(t testing.TB) string {
			prefix := fresh(odd) + "/"
			w.put(t, "x", prefix+"a", prefix+"b", prefix)
			return prefix
		}
		s.Exists = func(t testing.TB, ref string) bool { return w.has(t, ref+"a", ref+"b", ref) > 0 }
		s.Remove = func(t testing.TB, ref string) { w.Del(background, ref+"a", ref+"b", ref) }
		s.Decoy = func(t testing.TB, ref string) func() error {
			names := []string{strings.TrimSuffix(ref, "/") + "0/a", "x" + ref + "a", "job1x" + strings.TrimPrefix(ref, odd) + "a"}
			w.put(t, "theirs", names...)
			return func() error {
				if n := w.has(t, names...); n != len(names) {
					return fmt.Errorf("%d of %d keys are left", n, len(names))
				}
				return nil
			}
		}
		cleantest.Run(t, s)
	})
	for option, value := range map[string]string{"Value": "batch-1", "Token": "file:/token"} {
		t.Run("ReleaseLock by "+option, func(t *testing.T) {
			ours := "batch-1"
			if option == "Token" {
				ours = lockToken
			}
			s := subject(w, "ReleaseLock", option, value)
			s.Make = func(t testing.TB) string {
				key := fresh("locks/*")
				w.put(t, ours, key)
				return key
			}
			s.Exists = func(t testing.TB, ref string) bool { return w.has(t, ref) == 1 }
			s.Remove = func(t testing.TB, ref string) { w.Del(background, ref) }
			s.Decoy = func(t testing.TB, ref string) func() error {
				w.put(t, ours, ref+"0")
				return func() error {
					if w.has(t, ref+"0") != 1 {
						return errors.New("the longer name is gone")
					}
					return nil
				}
			}
			cleantest.Run(t, s)
		})
	}
}

// A prefix means one database only.
func TestOtherDatabase(t *testing.T) {
	w := real(t)
	w.put(t, "x", "db:1:a")
	other := opened(t, w, "DeleteKeys", "db:1:", "DB", "5")
	if found, err := other.Find(background); err != nil || len(found) != 0 {
		t.Errorf("in another database: found %+v, %v", found, err)
	}
	_, err := opened(t, w, "DeleteKeys", "db:1:", "DB", "5000").Find(background)
	want(t, "a database that can't be", err, "owed error")
	want(t, "in its own", clean(t, opened(t, w, "DeleteKeys", "db:1:", "DB", "0")), "removed")
}

func TestLockOfSomebodyElse(t *testing.T) {
	w := real(t)
	c := opened(t, w, "ReleaseLock", "locks/l", "Value", "batch-1")
	for _, theirs := range []string{"batch-10", "Batch-1", "batch-1 ", "", "batch-1\x00"} {
		w.put(t, theirs, "locks/l")
		if found, err := c.Find(background); err != nil || len(found) != 0 {
			t.Errorf("held by %q: found %+v, %v", theirs, found, err)
		}
		want(t, "taken over by "+theirs, c.Remove(background, residue.Residue{}), "lost changed")
		if w.has(t, "locks/l") != 1 {
			t.Fatalf("the lock of %q is gone", theirs)
		}
	}
	w.Del(background, "locks/l")
	w.HSet(background, "locks/l", "batch-1", "1")
	_, err := c.Find(background)
	want(t, "a hash", err, "refused changed")
	if w.has(t, "locks/l") != 1 {
		t.Error("the hash is gone")
	}
	w.Del(background, "locks/l")
}

func TestRefused(t *testing.T) {
	tests := []struct {
		selector, value string
		pairs           []string
		want            string
	}{
		{"Flush", "x", nil, "refused error"},
		{"ReleaseLock", "locks/l", nil, "refused error"},
		{"ReleaseLock", "", []string{"Value", "x"}, "refused error"},
		{"ReleaseLock", "locks/l", []string{"Value", "x", "Token", "file:/token"}, "refused error"},
		{"ReleaseLock", "locks/l", []string{"Token", "file:/none"}, "owed no-credentials"},
		{"ReleaseLock", "locks/l", []string{"Value", "x", "Password", "file:/none"}, "owed no-credentials"},
		{"DeleteKeys", "a:", []string{"Address", "redis://:hush@h:1"}, "refused error"}, {"DeleteKeys", "a:", []string{"Address", "u:hush@h:1"}, "refused error"},
		{"DeleteKeys", "a:", []string{"Address", "h"}, "refused error"}, {"DeleteKeys", "a:", []string{"Address", "h:0"}, "refused error"},
		{"DeleteKeys", "a:", []string{"Address", ":1"}, "refused error"}, {"DeleteKeys", "a:", []string{"Address", "h:99999"}, "refused error"},
		{"DeleteKeys", "a:", []string{"DB", "x"}, "refused error"}, {"DeleteKeys", "a:", []string{"DB", "-1"}, "refused error"},
		{"DeleteKeys", "a:", []string{"CACert", "/no/such"}, "owed no-credentials"}, {"DeleteKeys", "a:", []string{"Address", "/s", "TLS", "yes"}, "refused error"},
		{"DeleteKeys", "a:", []string{"Address", "/run/redis.sock"}, "removed"}, {"DeleteKeys", "a:", []string{"Address", "[::1]:6379", "TLS", "yes"}, "removed"},
	}
	for _, tt := range tests {
		_, err := Kind.Open(specOf("127.0.0.1:1", tt.selector, tt.value, tt.pairs...), depsOf(""))
		want(t, fmt.Sprint(tt.selector, "=", tt.value, " ", tt.pairs), err, tt.want)
		if err != nil && strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: the error shows the password: %v", tt.pairs, err)
		}
	}
}

// A user with the rights that the page names can do all of it, and what it may
// not do is owed.
func TestRights(t *testing.T) {
	w := real(t)
	for name, rules := range map[string][]any{
		"enough": {"on", ">pw", "~acl:*", "~locks/*", "+scan", "+unlink", "+get", "+del", "+eval"},
		"less":   {"on", ">pw", "~acl:*", "+scan", "+get"},
	} {
		if err := w.Do(background, append([]any{"ACL", "SETUSER", name}, rules...)...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	w.put(t, "batch-1", "acl:1:a", "locks/acl")
	open := func(user, selector, value string) residue.Cleaner {
		c, err := Kind.Open(specOf(w.Address, selector, value, "Username", user, "Value", "batch-1"), depsOf("pw"))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	want(t, "may not unlink", clean(t, open("less", "DeleteKeys", "acl:1:")), "owed permission")
	want(t, "may not get", clean(t, open("less", "ReleaseLock", "locks/acl")), "owed permission")
	want(t, "no such user", clean(t, open("nobody", "DeleteKeys", "acl:1:")), "owed permission")
	want(t, "keys", clean(t, open("enough", "DeleteKeys", "acl:1:")), "removed")
	want(t, "lock", clean(t, open("enough", "ReleaseLock", "locks/acl")), "removed")
}
