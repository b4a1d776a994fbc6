package amqp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"job-cleanup/pkg/clean/cleantest"
	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
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

// verdict is an error in two words.
func verdict(err error) string {
	e := residue.AsError(err)
	if e == nil {
		return "removed"
	}
	class := map[residue.Class]string{residue.Retry: "owed", residue.Unreachable: "unreachable", residue.Gone: "gone", residue.Refused: "refused", residue.Lost: "lost"}[e.Class]
	return class + " " + string(e.Reason)
}

func want(t *testing.T, what string, err error, word string) {
	t.Helper()
	if got := verdict(err); got != word {
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
			d := newDoor(t, w.Address)
			s.Kind, s.Decoy, s.Secrets = Kind, decoy, []string{w.Password}
			s.Spec = func(ref string) residue.Spec { return specOf("amqp://"+d.address, w.User, selector, ref) }
			s.Deps = func(testing.TB) residue.Deps { return depsOf(w.Password) }
			s.WrongCredentials = func(testing.TB) residue.Deps { return depsOf("wrong") }
			s.Down, s.Up = func(testing.TB) { d.down() }, func(t testing.TB) { d.up(t) }
			cleantest.Run(t, s)
		})
	}
}

// The right one of many names that could be taken for each other is deleted,
// in the right virtual host, whichever way that is written.
func TestCase38_names(t *testing.T) {
	w := real(t)
	names := []string{"a/b", "a%2Fb", "a%252Fb", "a", "a#b", "a#", "a%23b", "b", "/", "%2F", "#", "a?b", "a b", "a+b", "a*b"}
	escaped := "amqp://" + w.Address + "/te%2Fam%252F%23x%3Fy%20z"
	ways := map[string][]string{
		"address": {"Address", escaped},
		"option":  {"Vhost", strange},
		"both":    {"Address", escaped, "Vhost", strange},
	}
	for way, pairs := range ways {
		for _, v := range []string{"te/am%2F", "te", "te/am", "te/am/", "/"} {
			for _, name := range names[:3] {
				w.fill(t, v, name, 1)
			}
		}
		for _, name := range names {
			w.fill(t, strange, name, 1)
		}
		for i, name := range names {
			want(t, way+" "+name, clean(t, opened(t, w, "DeleteQueue", name, pairs...)), "removed")
			for j, other := range names {
				if there := w.count(t, strange, other) == 1; there != (j > i) {
					t.Fatalf("%s: after %q, there is %v of %q", way, name, there, other)
				}
			}
		}
		for _, v := range []string{"te/am%2F", "te", "te/am", "te/am/", "/"} {
			for _, name := range names[:3] {
				if w.count(t, v, name) < 1 {
					t.Errorf("%s: %q of virtual host %q is gone", way, name, v)
				}
			}
		}
	}
}

func TestCase38_gone(t *testing.T) {
	w := real(t)
	for _, selector := range []string{"DeleteQueue", "PurgeQueue", "DeleteExchange"} {
		c := opened(t, w, selector, "never-was")
		if found, err := c.Find(background); err != nil || len(found) != 0 {
			t.Errorf("%s: found %+v, %v", selector, found, err)
		}
		want(t, selector, c.Remove(background, residue.Residue{}), "gone absent")
	}
	c := opened(t, w, "DeleteQueue", "never-was", "Vhost", "nowhere")
	_, err := c.Find(background)
	if got := verdict(err); !strings.HasPrefix(got, "owed") {
		t.Errorf("a virtual host that is not there: %s (%v), want owed", got, err)
	}
}

// The server uses 404 for a queue whose node is down too.
func TestCase38_notFoundIsNotAlwaysGone(t *testing.T) {
	for reason, gone := range map[string]bool{
		"NOT_FOUND - no queue 'a' in vhost '/'": true, "NOT_FOUND - no exchange 'a' in vhost '/'": true,
		"NOT_FOUND - home node 'rabbit@b' of durable queue 'a' in vhost '/' is down or inaccessible": false,
		"NOT_FOUND - queue 'a' in vhost '/' process is stopped by supervisor":                        false,
	} {
		if got := absent(fmt.Errorf("look: %w", &amqp091.Error{Code: 404, Reason: reason})); got != gone {
			t.Errorf("%s: gone %v, want %v", reason, got, gone)
		}
	}
}

func TestCase38_consumers(t *testing.T) {
	w := real(t)
	for _, kind := range []string{"classic", "quorum"} {
		t.Run(kind, func(t *testing.T) {
			name := fresh("used")
			ch := w.open(t, "/")
			if _, err := ch.QueueDeclare(name, true, false, false, false, amqp091.Table{"x-queue-type": kind}); err != nil {
				t.Fatal(err)
			}
			if _, err := ch.Consume(name, "somebody", false, false, false, false, nil); err != nil {
				t.Fatal(err)
			}
			c := opened(t, w, "DeleteQueue", name)
			want(t, "with a consumer", clean(t, c), "owed in-use")
			if kind == "classic" { // the server itself looks once more
				want(t, "with a consumer that came late", c.(*cleaner).server.session(background, func(s *session) error { return queue{name}.remove(s, true) }), "owed in-use")
			}
			if w.count(t, "/", name) < 0 {
				t.Fatal("the queue is gone")
			}
			if err := ch.Cancel("somebody", false); err != nil {
				t.Fatal(err)
			}
			want(t, "without", clean(t, c), "removed")
		})
	}
	w.fill(t, "/", "used-by-force", 1)
	if _, err := w.open(t, "/").Consume("used-by-force", "", false, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
	want(t, "told otherwise", clean(t, opened(t, w, "DeleteQueue", "used-by-force", "Force", "yes")), "removed")
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
	if got := verdict(err); !strings.HasPrefix(got, "owed") {
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

// A server that accepts and says nothing, and one that is not there.
func TestCase12_noAnswer(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	dead.Close()
	deadline := func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(background, 100*time.Millisecond)
	}
	cancelled := func() (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(background)
		time.AfterFunc(100*time.Millisecond, cancel)
		return ctx, cancel
	}
	tests := []struct {
		where net.Listener
		ctx   func() (context.Context, context.CancelFunc)
		want  string
	}{
		{silent, deadline, "unreachable timeout"}, {silent, cancelled, "owed cancelled"}, {dead, deadline, "unreachable unreachable"},
	}
	for _, tt := range tests {
		c, err := Kind.Open(specOf("amqp://"+tt.where.Addr().String(), "u", "DeleteQueue", "q"), depsOf("x"))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		ctx, cancel := tt.ctx()
		_, err = c.Find(ctx)
		want(t, "find", err, tt.want)
		want(t, "remove", c.Remove(ctx, residue.Residue{}), tt.want)
		if took := time.Since(began); took > time.Second {
			t.Errorf("%s took %v", tt.want, took)
		}
		cancel()
	}
}
