//go:build linux

package servers

import (
	"context"
	"os/exec"
	"strconv"

	"github.com/redis/go-redis/v9"

	"job-cleanup/test/rig"
)

// RedisServer is a real Redis server.
type RedisServer struct {
	*Server
	Address  string // 127.0.0.1:PORT
	Password string // of its default user
}

// Redis starts one.
func Redis(t rig.T) *RedisServer {
	t.Helper()
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("needs redis-server")
	}
	port := freePort(t)
	r := &RedisServer{Server: newServer(t, "redis"), Address: loopback(port), Password: NewSecret()}
	r.command = func() *exec.Cmd {
		return exec.Command(binary, "--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dir", r.folder,
			"--appendonly", "yes", "--appendfsync", "no", "--save", "", "--requirepass", r.Password)
	}
	r.answers = func(ctx context.Context) error {
		client := r.Client()
		defer client.Close()
		return client.Ping(ctx).Err()
	}
	r.Start()
	return r
}

// Client returns a client that may do everything. The caller closes it.
func (r *RedisServer) Client() *redis.Client {
	return redis.NewClient(&redis.Options{Addr: r.Address, Password: r.Password})
}
