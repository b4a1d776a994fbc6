//go:build linux

package servers_test

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	amqp "github.com/rabbitmq/amqp091-go"

	"job-cleanup/test/servers"
)

// wantGone fails if a server's process, or one of its group, lives on.
func wantGone(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(-pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process group %d: %v, want none", pid, err)
	}
}

func TestVault(t *testing.T) {
	var pid int
	t.Run("lives", func(t *testing.T) {
		v := servers.Vault(t)
		v.Policy("reader", `path "kv/*" { capabilities = ["read"] }`)
		token, accessor := v.Token(map[string]any{"policies": []string{"reader"}})
		if !v.Valid(token) || accessor == "" {
			t.Error("the token does not work")
		}
		v.Must(v.Root, http.MethodGet, "lease/creds/one", nil)
		v.Stop()
		v.Start()
		pid = v.PID()
		if !v.Valid(token) || len(v.Leases()) != 1 {
			t.Errorf("after the restart: valid %t, leases %q", v.Valid(token), v.Leases())
		}
		v.Must(token, http.MethodPost, "auth/token/revoke-self", nil)
		if v.Valid(token) {
			t.Error("a revoked token works")
		}
		v.Must(v.Root, http.MethodPost, "sys/leases/revoke-prefix/lease", map[string]any{"sync": true})
		if left := v.Leases(); left != nil {
			t.Errorf("revoked, and there are %q", left)
		}
	})
	wantGone(t, pid)
}

func TestConsul(t *testing.T) {
	var pid int
	t.Run("lives", func(t *testing.T) {
		c := servers.Consul(t)
		if status, text := c.Do(http.MethodPut, "kv/a/b", "value"); status != http.StatusOK || text != "true" {
			t.Errorf("put: %d %q", status, text)
		}
		c.Stop()
		c.Start()
		pid = c.PID()
		if status, text := c.Do(http.MethodGet, "kv/a/b?raw", ""); status != http.StatusOK || text != "value" {
			t.Errorf("after the restart: %d %q", status, text)
		}
		c.Token = "ffffffff-0000-0000-0000-000000000000"
		if status, _ := c.Do(http.MethodGet, "kv/a/b?raw", ""); status != http.StatusForbidden {
			t.Errorf("with an unknown token: %d", status)
		}
	})
	wantGone(t, pid)
}

func TestS3(t *testing.T) {
	var pid int
	t.Run("lives", func(t *testing.T) {
		s := servers.S3(t)
		s.Bucket("artifacts")
		upload, err := s.Client().CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: aws.String("artifacts"), Key: aws.String("a/b")})
		if err != nil {
			t.Fatal(err)
		}
		s.Stop()
		s.Start()
		pid = s.PID()
		list, err := s.Client().ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: aws.String("artifacts")})
		if err != nil || len(list.Uploads) != 1 || *list.Uploads[0].UploadId != *upload.UploadId {
			t.Errorf("after the restart: %v, %v", list, err)
		}
	})
	wantGone(t, pid)
}

func TestPostgres(t *testing.T) {
	var pid int
	t.Run("lives", func(t *testing.T) {
		p := servers.Postgres(t)
		p.Exec("postgres", "CREATE SCHEMA a", "CREATE TABLE a.b AS SELECT 1")
		p.Stop()
		p.Start()
		pid = p.PID()
		if n := p.Count("postgres", "SELECT count(*) FROM a.b WHERE 1 = $1", 1); n != 1 {
			t.Errorf("after the restart: %d rows", n)
		}
	})
	wantGone(t, pid)
}

func TestRedis(t *testing.T) {
	var pid int
	t.Run("lives", func(t *testing.T) {
		r := servers.Redis(t)
		client := r.Client()
		defer client.Close()
		if err := client.Set(t.Context(), "a", "b", 0).Err(); err != nil {
			t.Fatal(err)
		}
		r.Stop()
		r.Start()
		pid = r.PID()
		if got, err := client.Get(t.Context(), "a").Result(); err != nil || got != "b" {
			t.Errorf("after the restart: %q, %v", got, err)
		}
	})
	wantGone(t, pid)
}

func TestRabbitMQ(t *testing.T) {
	var pid int
	t.Run("lives", func(t *testing.T) {
		r := servers.RabbitMQ(t)
		onChannel(t, r, func(channel *amqp.Channel) error {
			_, err := channel.QueueDeclare("a", true, false, false, false, nil)
			return err
		})
		r.Stop()
		r.Start()
		pid = r.PID()
		onChannel(t, r, func(channel *amqp.Channel) error {
			_, err := channel.QueueDeclarePassive("a", true, false, false, false, nil)
			return err
		})
	})
	wantGone(t, pid)
}

func onChannel(t *testing.T, r *servers.RabbitMQServer, do func(*amqp.Channel) error) {
	t.Helper()
	connection, err := amqp.Dial(r.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	channel, err := connection.Channel()
	if err != nil {
		t.Fatal(err)
	}
	if err := do(channel); err != nil {
		t.Error(err)
	}
}

// inKilled tells this test program to be one that is killed.
const inKilled = "JOB_CLEANUP_TEST_KILLED"

// TestKilled: nothing lives on when the test program has no chance to end its
// servers.
func TestKilled(t *testing.T) {
	if os.Getenv(inKilled) != "" {
		pids := []int{servers.Postgres(t).PID(), servers.RabbitMQ(t).PID()}
		fmt.Println("servers:", pids[0], pids[1])
		select {}
	}
	program := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	program.Env = append(os.Environ(), inKilled+"=yes", "TMPDIR="+openFolder(t))
	output, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	var pids [2]int
	lines := bufio.NewReader(output)
	line, _ := lines.ReadString('\n')
	_, scanErr := fmt.Sscanf(line, "servers: %d %d", &pids[0], &pids[1])
	program.Process.Kill()
	program.Wait()
	if scanErr != nil {
		t.Skipf("no servers to be killed: %q", line)
	}
	for _, pid := range pids {
		deadline := time.Now().Add(20 * time.Second)
		for syscall.Kill(-pid, 0) == nil && time.Now().Before(deadline) {
			time.Sleep(10 * time.Millisecond)
		}
		wantGone(t, pid)
	}
}

// openFolder is a folder for temporary files that every user can enter.
func openFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "job-cleanup-killed-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o1777); err != nil {
		t.Fatal(err)
	}
	return folder
}
