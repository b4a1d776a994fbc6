package amqp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"job-cleanup/pkg/clean/cleantest"
	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
	"job-cleanup/test/servers"
)

var (
	serial     atomic.Int64
	background = context.Background()
)

func fresh(stem string) string { return fmt.Sprintf("%s.%d", stem, serial.Add(1)) }

func depsOf(password string) residue.Deps {
	return residue.Deps{Now: time.Now, Secret: func(ref string) (secret.Text, error) {
		if ref != "file:/password" {
			return secret.Text{}, residue.Errorf(residue.Retry, residue.NoCredentials, "no secret %q", ref)
		}
		return secret.New(password), nil
	}}
}

func specOf(address, user, selector, value string, pairs ...string) residue.Spec {
	spec := residue.Spec{Kind: "amqp", Selector: selector, Value: value, Options: map[string][]string{
		"Address": {address}, "Username": {user}, "Password": {"file:/password"},
	}}
	for i := 0; i < len(pairs); i += 2 {
		spec.Options[pairs[i]] = []string{pairs[i+1]}
	}
	spec.Identify()
	return spec
}

func opened(t *testing.T, w *world, selector, value string, pairs ...string) residue.Cleaner {
	t.Helper()
	c, err := Kind.Open(specOf("amqp://"+w.Address, w.User, selector, value, pairs...), depsOf(w.Password))
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

func TestConformance(t *testing.T) {
	w := real(t)
	const odd = `job/%2F#é "*`
	makeQueue := func(t testing.TB) string {
		name := fresh(odd)
		w.fill(t, "/", name, 2)
		return name
	}
	decoy := func(t testing.TB, ref string) func() error {
		w.fill(t, "/", ref+"0", 1)
		w.fill(t, "te", ref, 1)
		w.exchange(t, ref+"0")
		return func() error {
			if w.count(t, "/", ref+"0") != 1 || w.count(t, "te", ref) != 1 || !w.hasExchange(t, ref+"0") {
				return errors.New("a neighbour is not as it was")
			}
			return nil
		}
	}
	subjects := map[string]cleantest.Subject{
		"DeleteQueue": {
			Make:   makeQueue,
			Exists: func(t testing.TB, ref string) bool { return w.count(t, "/", ref) >= 0 },
			Remove: func(t testing.TB, ref string) {
				_ = w.on(t, "/", func(ch *amqp091.Channel) error { _, err := ch.QueueDelete(ref, false, false, false); return err })
			},
		},
		"PurgeQueue": {
			Make:   makeQueue,
			Exists: func(t testing.TB, ref string) bool { return w.count(t, "/", ref) > 0 },
			Remove: func(t testing.TB, ref string) {
				_ = w.on(t, "/", func(ch *amqp091.Channel) error { _, err := ch.QueuePurge(ref, false); return err })
			},
		},
		"DeleteExchange": {
			Make: func(t testing.TB) string {
				name := fresh(odd)
				w.exchange(t, name)
				return name
			},
			Exists: func(t testing.TB, ref string) bool { return w.hasExchange(t, ref) },
			Remove: func(t testing.TB, ref string) {
				_ = w.on(t, "/", func(ch *amqp091.Channel) error { return ch.ExchangeDelete(ref, false, false) })
			},
		},
	}
	for selector, s := range subjects {
		t.Run(selector, func(t *testing.T) {
			d := servers.NewDoor(t, w.Address)
			s.Kind, s.Decoy, s.Secrets = Kind, decoy, []string{w.Password}
			s.Spec = func(ref string) residue.Spec { return specOf("amqp://"+d.Address, w.User, selector, ref) }
			s.Deps = func(testing.TB) residue.Deps { return depsOf(w.Password) }
			s.WrongCredentials = func(testing.TB) residue.Deps { return depsOf("wrong") }
			s.Down, s.Up = func(testing.TB) { d.Shut() }, func(testing.TB) { d.Open() }
			cleantest.Run(t, s)
		})
	}
}

func TestPurgeBesideAConsumer(t *testing.T) {
	w := real(t)
	w.fill(t, "/", "purged", 3)
	ch := w.open(t, "/")
	if err := ch.Qos(1, 0, false); err != nil {
		t.Fatal(err)
	}
	got, err := ch.Consume("purged", "somebody", false, false, false, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	<-got
	c := opened(t, w, "PurgeQueue", "purged")
	want(t, "one is being worked on", clean(t, c), "owed in-use")
	if n := w.count(t, "/", "purged"); n != 2 {
		t.Errorf("%d messages wait, want 2", n)
	}
	if err := ch.Close(); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return w.count(t, "/", "purged") == 3 })
	want(t, "nobody works on it", clean(t, c), "removed")
	if n := w.count(t, "/", "purged"); n != 0 {
		t.Errorf("%d messages wait, want 0", n)
	}
}

func TestExchangeInUse(t *testing.T) {
	w := real(t)
	w.exchange(t, "bound")
	w.fill(t, "/", "bound-to", 0)
	if err := w.on(t, "/", func(ch *amqp091.Channel) error { return ch.QueueBind("bound-to", "#", "bound", false, nil) }); err != nil {
		t.Fatal(err)
	}
	c := opened(t, w, "DeleteExchange", "bound")
	want(t, "with a binding", clean(t, c), "owed in-use")
	want(t, "its queue", clean(t, opened(t, w, "DeleteQueue", "bound-to")), "removed")
	want(t, "without", clean(t, c), "removed")
}

// An exclusive queue is locked to its connection.
func TestExclusiveQueue(t *testing.T) {
	w := real(t)
	if _, err := w.open(t, "/").QueueDeclare("exclusive", false, false, true, false, nil); err != nil {
		t.Fatal(err)
	}
	_, err := opened(t, w, "DeleteQueue", "exclusive").Find(background)
	want(t, "somebody's own", err, "owed in-use")
}

func TestRights(t *testing.T) {
	w := real(t)
	w.fill(t, "/", "closed", 1)
	c, err := Kind.Open(specOf("amqp://reader@"+w.Address, "", "DeleteQueue", "closed"), depsOf("reading"))
	if err != nil {
		t.Fatal(err)
	}
	want(t, "may not delete", clean(t, c), "owed permission")
	c, err = Kind.Open(specOf("amqp://reader@"+w.Address, "", "DeleteQueue", "closed", "Vhost", "te"), depsOf("reading"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Find(background)
	if got := cleantest.Verdict(err); !strings.HasPrefix(got, "owed") {
		t.Errorf("no rights in that virtual host: %s, want owed (%v)", got, err)
	}
	if w.count(t, "/", "closed") != 1 {
		t.Error("the queue is not as it was")
	}
}

func TestRefused(t *testing.T) {
	good := []string{"Address", "amqp://h"}
	tests := []struct {
		selector, value string
		pairs           []string
		want            string
	}{
		{"DeleteQueue", "", good, "refused protected"}, {"DeleteExchange", "", good, "refused protected"}, {"PurgeQueue", "", good, "refused protected"},
		{"DeleteExchange", "amq.topic", good, "refused protected"}, {"DeleteQueue", "amq.gen-x", good, "refused protected"},
		{"DeleteQueue", strings.Repeat("x", 256), good, "refused error"}, {"Drain", "x", good, "refused error"},
		{"DeleteQueue", "x", []string{"Address", "amqp://u:hush@h"}, "refused error"}, {"DeleteQueue", "x", []string{"Address", "amqp://u:@h"}, "refused error"},
		{"DeleteQueue", "x", []string{"Address", "http://hush"}, "refused error"}, {"DeleteQueue", "x", []string{"Address", "hush"}, "refused error"},
		{"DeleteQueue", "x", []string{"Address", "amqp:///v"}, "refused error"}, {"DeleteQueue", "x", []string{"Address", "amqp://h/%zz"}, "refused error"},
		{"DeleteQueue", "x", []string{"Address", "amqp://h/a#b"}, "refused error"}, {"DeleteQueue", "x", []string{"Address", "amqp://h/a#"}, "refused error"},
		{"DeleteQueue", "x", []string{"Address", "amqp://h/a?b"}, "refused error"}, {"DeleteQueue", "x", []string{"Address", "amqp://h/a", "Vhost", "b"}, "refused error"},
		{"DeleteQueue", "x", []string{"Address", "amqp://h", "Password", ""}, "refused error"}, {"DeleteQueue", "x", []string{"Address", "amqp://h", "Password", "file:/none"}, "owed no-credentials"},
		{"DeleteQueue", "x", []string{"Address", "amqp://h", "CACert", "/x"}, "refused error"}, {"DeleteQueue", "x", []string{"Address", "amqps://h", "CACert", "/no/such"}, "owed no-credentials"},
		{"DeleteQueue", "x", good, "removed"}, {"DeleteQueue", "x", []string{"Address", "amqps://[::1]:1/a/b"}, "removed"}, {"DeleteQueue", "x", []string{"Address", ""}, "removed"},
	}
	for _, tt := range tests {
		_, err := Kind.Open(specOf("", "", tt.selector, tt.value, tt.pairs...), depsOf("x"))
		want(t, fmt.Sprint(tt.selector, "=", tt.value, " ", tt.pairs), err, tt.want)
		if err != nil && strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: the error shows the password: %v", tt.pairs, err)
		}
	}
}

func TestAddresses(t *testing.T) {
	for text, want := range map[string][3]string{
		"":                                  {"amqp://127.0.0.1:5672", "/", "guest"},
		"amqp://h/":                         {"amqp://h:5672", "/", "guest"},
		"amqps://u@h/%2F":                   {"amqps://h:5671", "/", "u"},
		"amqp://[::1]:7/a%2Fb":              {"amqp://[::1]:7", "a/b", "guest"},
		"amqp://h/te%2Fam%252F%23x%3Fy%20z": {"amqp://h:5672", strange, "guest"},
	} {
		s, err := newServer(residue.Spec{Options: map[string][]string{"Address": {text}, "Password": {"file:/password"}}}, depsOf("x"))
		if got := [3]string{s.endpoint(), s.vhost, s.user}; err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
}

// A residue of another virtual host is not looked for in this one.
func TestRecordedElsewhere(t *testing.T) {
	w := real(t)
	w.fill(t, "/", "elsewhere", 1)
	r := residue.Residue{Type: "queue", Ref: "elsewhere", Proof: map[string]string{"vhost": "te"}}
	want(t, "seen in another virtual host", opened(t, w, "DeleteQueue", "elsewhere").Remove(background, r), "lost changed")
	if w.count(t, "/", "elsewhere") != 1 {
		t.Error("the queue is gone")
	}
}
