package redis

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"job-cleanup/test/servers"
)

var shared struct {
	mu     sync.Mutex
	server *servers.RedisServer
}

func TestMain(m *testing.M) { os.Exit(servers.Main(m.Run)) }

// world is the real server and a client that may do everything.
type world struct {
	*servers.RedisServer
	*redis.Client
}

// real starts the server, or skips the test where there is none.
func real(t testing.TB) world {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.server == nil {
		shared.server = servers.Redis(servers.Lasting(t))
	}
	client := shared.server.Client()
	t.Cleanup(func() { client.Close() })
	return world{shared.server, client}
}

var background = context.Background()

// put sets keys, each to the same value.
func (w world) put(t testing.TB, value string, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := w.Set(background, name, value, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// has tells how many of the names are there.
func (w world) has(t testing.TB, names ...string) int {
	t.Helper()
	n, err := w.Exists(background, names...).Result()
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}

func xadd(stream string) *redis.XAddArgs {
	return &redis.XAddArgs{Stream: stream, Values: []string{"a", "b"}}
}
