package amqp

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"job-cleanup/pkg/clean/cleantest"
	"job-cleanup/pkg/residue"
)

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
		want(t, selector, c.Remove(background, residue.Residue{}), "gone")
	}
	c := opened(t, w, "DeleteQueue", "never-was", "Vhost", "nowhere")
	_, err := c.Find(background)
	if got := cleantest.Verdict(err); !strings.HasPrefix(got, "owed") {
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
