package amqp

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"job-cleanup/test/servers"
)

// strange is a virtual host's name with all that a URL minds.
const strange = "te/am%2F#x?y z"

var shared struct {
	mu    sync.Mutex
	world *world
}

func TestMain(m *testing.M) { os.Exit(servers.Main(m.Run)) }

// world is the real server with the virtual hosts / and strange, some that
// strange could be taken for, and a user reader who may delete nothing.
type world struct{ *servers.RabbitMQServer }

// real starts the server, or skips the test where there is none.
func real(t testing.TB) *world {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.world == nil {
		w := &world{servers.RabbitMQ(servers.Lasting(t))}
		w.setUp(t)
		shared.world = w
	}
	return shared.world
}

var vhosts = []string{"/", strange, "te", "te/am", "te/am/", "te/am%2F"}

func (w *world) setUp(t testing.TB) {
	t.Helper()
	binary := func(s string) string { return `<<"` + s + `">>` }
	var b strings.Builder
	fmt.Fprintf(&b, "rabbit_auth_backend_internal:add_user(%s, %s, %s),", binary("reader"), binary("reading"), binary("test"))
	for _, v := range vhosts {
		if v != "/" {
			fmt.Fprintf(&b, "rabbit_vhost:add(%s, %s),", binary(v), binary("test"))
		}
		fmt.Fprintf(&b, "rabbit_auth_backend_internal:set_permissions(%s, %s, %s, %s, %s, %s),", binary(w.User), binary(v), binary(".*"), binary(".*"), binary(".*"), binary("test"))
	}
	fmt.Fprintf(&b, "rabbit_auth_backend_internal:set_permissions(%s, %s, %s, %s, %s, %s).", binary("reader"), binary("/"), binary("^$"), binary("^$"), binary(".*"), binary("test"))
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", w.PID()))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/usr/lib/rabbitmq/bin/rabbitmqctl", "eval", b.String())
	for pair := range bytes.SplitSeq(environment, []byte{0}) {
		cmd.Env = append(cmd.Env, string(pair))
	}
	cmd.Dir = "/"
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("ok")) {
		t.Fatalf("set up the server: %v: %s", err, out)
	}
}

// on runs do on a channel of its own in a virtual host, as who may do
// everything.
func (w *world) on(t testing.TB, vhost string, do func(*amqp091.Channel) error) error {
	t.Helper()
	ch := w.open(t, vhost)
	return do(ch)
}

// open opens a channel that lives until the test ends.
func (w *world) open(t testing.TB, vhost string) *amqp091.Channel {
	t.Helper()
	wire, err := net.Dial("tcp", w.Address)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := amqp091.Open(wire, amqp091.Config{SASL: []amqp091.Authentication{&amqp091.PlainAuth{Username: w.User, Password: w.Password}}, Vhost: vhost, Locale: "en_US"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// fill makes a durable queue with messages that wait.
func (w *world) fill(t testing.TB, vhost, name string, messages int) {
	t.Helper()
	err := w.on(t, vhost, func(ch *amqp091.Channel) error {
		if _, err := ch.QueueDeclare(name, true, false, false, false, nil); err != nil {
			return err
		}
		if err := ch.Confirm(false); err != nil {
			return err
		}
		for range messages {
			sent, err := ch.PublishWithDeferredConfirmWithContext(context.Background(), "", name, false, false, amqp091.Publishing{DeliveryMode: amqp091.Persistent, Body: []byte("x")})
			if err != nil {
				return err
			}
			sent.Wait()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// count tells how many messages wait in a queue, -1 for no queue.
func (w *world) count(t testing.TB, vhost, name string) int {
	t.Helper()
	n := -1
	_ = w.on(t, vhost, func(ch *amqp091.Channel) error {
		q, err := ch.QueueDeclarePassive(name, false, false, false, false, nil)
		if err == nil {
			n = q.Messages
		}
		return err
	})
	return n
}

// exchange makes one.
func (w *world) exchange(t testing.TB, name string) {
	t.Helper()
	err := w.on(t, "/", func(ch *amqp091.Channel) error {
		return ch.ExchangeDeclare(name, "topic", true, false, false, false, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) hasExchange(t testing.TB, name string) bool {
	t.Helper()
	return w.on(t, "/", func(ch *amqp091.Channel) error {
		return ch.ExchangeDeclarePassive(name, "topic", true, false, false, false, nil)
	}) == nil
}

// until waits for something to become true, 10 seconds at most.
func until(t *testing.T, is func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not come true in 10 seconds")
		}
	}
}
