//go:build linux

package story

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	amqp "github.com/rabbitmq/amqp091-go"

	"job-cleanup/test/rig"
)

// Everything is all that a job holds when it has taken it, by the kind of
// residue and what it is, in the order of Holds.
var Everything = []string{
	"amqp queue", "consul lock", "consul session", "path", "postgres schema", "redis keys", "s3 upload", "vault lease", "vault token",
}

// Residue is what the journal calls Everything: the lease goes with its token.
var Residue = []string{
	"amqp queue", "consul lock", "consul session", "path path", "postgres schema", "redis keys", "s3 upload", "vault token",
}

// Holds asks the machine and every server that runs what there is of a job.
// Servers that are stopped can't be asked; nothing of them is in the answer.
func (w *World) Holds(m *rig.Machine, name string) []string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var held []string
	for what, has := range map[string]func() bool{
		"path":            func() bool { return m.Exists("/var/tmp/batch-" + name) },
		"vault token":     func() bool { return w.Vault.PID() != 0 && w.Vault.Valid(w.Token(m, name)) },
		"vault lease":     func() bool { return w.Vault.PID() != 0 && slices.Contains(w.Vault.Leases(), name) },
		"consul lock":     func() bool { return w.Consul.PID() != 0 && w.locked(name) },
		"consul session":  func() bool { return w.Consul.PID() != 0 && len(w.sessions(name)) > 0 },
		"s3 upload":       func() bool { return w.S3.PID() != 0 && len(w.Uploads(ctx, name)) > 0 },
		"postgres schema": func() bool { return w.Postgres.PID() != 0 && w.schema(name) },
		"redis keys":      func() bool { return w.Redis.PID() != 0 && w.keys(ctx, name) },
		"amqp queue":      func() bool { return w.RabbitMQ.PID() != 0 && w.queue(name) },
	} {
		if has() {
			held = append(held, what)
		}
	}
	slices.Sort(held)
	return held
}

// Token returns the Vault token that a job logged in for.
func (w *World) Token(m *rig.Machine, name string) string {
	w.t.Helper()
	return m.Shell("cat " + told + "/" + name + ".token")
}

func (w *World) locked(name string) bool {
	w.t.Helper()
	status, text := w.Consul.Do(http.MethodGet, "kv/locks/batch-"+name, "")
	var keys []struct{ Session string }
	if status == http.StatusNotFound {
		return false
	}
	if err := json.Unmarshal([]byte(text), &keys); err != nil || len(keys) != 1 {
		w.t.Fatalf("consul: status %d: %q", status, text)
	}
	return keys[0].Session != ""
}

func (w *World) sessions(name string) (ids []string) {
	w.t.Helper()
	status, text := w.Consul.Do(http.MethodGet, "session/list", "")
	var sessions []struct{ ID, Name string }
	if err := json.Unmarshal([]byte(text), &sessions); err != nil {
		w.t.Fatalf("consul: status %d: %q", status, text)
	}
	for _, session := range sessions {
		if session.Name == "batch-"+name {
			ids = append(ids, session.ID)
		}
	}
	return ids
}

// Unlock opens a job's lock and ends its sessions, as a person would.
func (w *World) Unlock(name string) {
	w.t.Helper()
	for _, id := range w.sessions(name) {
		w.Consul.Do(http.MethodPut, "kv/locks/batch-"+name+"?release="+id, "")
		w.Consul.Do(http.MethodPut, "session/destroy/"+id, "")
	}
}

// Uploads returns the ids of a job's unfinished uploads.
func (w *World) Uploads(ctx context.Context, name string) []string {
	w.t.Helper()
	list, err := w.S3.Client().ListMultipartUploads(ctx, &s3.ListMultipartUploadsInput{Bucket: aws.String("artifacts")})
	if err != nil {
		w.t.Fatal(err)
	}
	var ids []string
	for _, upload := range list.Uploads {
		if strings.HasPrefix(aws.ToString(upload.Key), "jobs/"+name+"/") {
			ids = append(ids, aws.ToString(upload.UploadId))
		}
	}
	return ids
}

func (w *World) schema(name string) bool {
	w.t.Helper()
	return w.Postgres.Count("postgres", "SELECT count(*) FROM pg_namespace WHERE nspname = $1", "batch_"+name) > 0
}

func (w *World) keys(ctx context.Context, name string) bool {
	w.t.Helper()
	client := w.Redis.Client()
	defer client.Close()
	keys, err := client.Keys(ctx, "batch:"+name+":*").Result()
	if err != nil {
		w.t.Fatal(err)
	}
	return len(keys) > 0
}

func (w *World) queue(name string) bool {
	w.t.Helper()
	connection, err := amqp.Dial(w.RabbitMQ.URL())
	if err != nil {
		w.t.Fatal(err)
	}
	defer connection.Close()
	channel, err := connection.Channel()
	if err != nil {
		w.t.Fatal(err)
	}
	_, err = channel.QueueDeclarePassive("batch-"+name, true, false, false, false, nil)
	var failure *amqp.Error
	if errors.As(err, &failure) && failure.Code == amqp.NotFound {
		return false
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return true
}
