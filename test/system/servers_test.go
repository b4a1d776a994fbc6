package system_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"job-cleanup/test/rig"
	"job-cleanup/test/servers"
)

// keysStep removes keys of a Redis server, which machines share with the host.
func keysStep(server *servers.RedisServer, prefix string) string {
	return fmt.Sprintf("\n[X-Cleanup.Redis]\nDeleteKeys=%s\nAddress=%s\nPassword=file:/srv/redis-password\n", prefix, server.Address)
}

// inRedis asks a server.
func inRedis[T any](t *testing.T, server *servers.RedisServer, ask func(context.Context, *redis.Client) (T, error)) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	client := server.Client()
	defer client.Close()
	answer, err := ask(ctx, client)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// setKeys makes keys below a prefix.
func setKeys(t *testing.T, server *servers.RedisServer, prefix string, n int) {
	t.Helper()
	inRedis(t, server, func(ctx context.Context, c *redis.Client) ([]redis.Cmder, error) {
		return c.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i := range n {
				p.Set(ctx, fmt.Sprintf("%s%d", prefix, i), "x", 0)
			}
			return nil
		})
	})
}

// keysLeft counts them.
func keysLeft(t *testing.T, server *servers.RedisServer, prefix string) int {
	t.Helper()
	return len(inRedis(t, server, func(ctx context.Context, c *redis.Client) ([]string, error) {
		return c.Keys(ctx, prefix+"*").Result()
	}))
}

// TestServersOfAUnitThatNeverArms: what such a unit owes on a server that was
// down is settled by its next hook, since a sweep can't tell when the unit
// starts again.
func TestServersOfAUnitThatNeverArms(t *testing.T) {
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		server := servers.Redis(t)
		m.Write("/srv/redis-password", 0o600, server.Password)
		unit := "[Service]\nType=oneshot\nExecStart=/bin/true\n" + hook
		install(m, "never.service", unit+keysStep(server, "jobs:first-%N:"))
		setKeys(t, server, "jobs:first-never:", 3)
		server.Stop()
		runUnit(m, "never.service")
		if found := m.Run("find", "/var/lib/job-cleanup", "-name", "*.jsonl").Stdout; found == "" {
			t.Error("nothing is owed")
		}
		server.Start()
		m.Shell("job-cleanup sweep --all")
		install(m, "never.service", unit+keysStep(server, "jobs:%N:"))
		runUnit(m, "never.service")
		if n := keysLeft(t, server, "jobs:first-never:"); n != 0 {
			t.Errorf("%d keys stay: %v", n, said(m, "never.service"))
		}
		wantNothingOwed(t, m, "never.service")
	})
}
