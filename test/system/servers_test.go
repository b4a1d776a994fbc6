package system_test

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"job-cleanup/pkg/journal"
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

// TestCase09_hostThatIsDead: 20 residues on a server that takes connections and
// never answers cost one time-out, in the hook and in a sweep; all are owed.
// When it answers again a sweep ends them.
func TestCase09_hostThatIsDead(t *testing.T) {
	const residues, timeout = 20, 10 * time.Second
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		server := servers.Redis(t)
		t.Cleanup(func() { _ = syscall.Kill(server.PID(), syscall.SIGCONT) })
		m.Write("/srv/redis-password", 0o600, server.Password)
		text := oneshot("ExecStart=/bin/false", "\n[X-Cleanup]\nTimeoutSec=2min\n")
		for i := range residues {
			prefix := fmt.Sprintf("jobs:dead:%d:", i)
			setKeys(t, server, prefix, 3)
			text += keysStep(server, strings.Replace(prefix, "dead", "%N", 1))
		}
		install(m, "dead.service", text)
		if err := syscall.Kill(server.PID(), syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		for i, clean := range []func(){
			func() { runUnit(m, "dead.service") }, func() { m.Shell("job-cleanup sweep") },
		} {
			began := time.Now()
			clean()
			if took := time.Since(began); took > 2*timeout-time.Second {
				t.Errorf("it took %v, one time-out is %v", took, timeout)
			}
			owed := records(m, "dead.service", journal.Owed)
			if len(owed) != (i+1)*residues || owed[0]["JOB_CLEANUP_REASON"] != "timeout" {
				t.Errorf("%d are owed: %v", len(owed), said(m, "dead.service"))
			}
		}
		if err := syscall.Kill(server.PID(), syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		if n := keysLeft(t, server, "jobs:dead:"); n != 3*residues {
			t.Errorf("%d keys are left: the test shows nothing", n)
		}
		m.Shell("job-cleanup sweep --all")
		if n := keysLeft(t, server, "jobs:dead:"); n != 0 {
			t.Errorf("%d keys stay", n)
		}
		if gone := records(m, "dead.service", journal.Removed); len(gone) != residues {
			t.Errorf("%d removed: %v", len(gone), said(m, "dead.service"))
		}
		wantNothingOwed(t, m, "dead.service")
	})
}
