package system_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"job-cleanup/test/rig"
	"job-cleanup/test/servers"
)

// nightlyJob takes what is on the machine; the test takes the rest for it.
const nightlyJob = `#!/bin/sh -e
mkdir -p "/var/tmp/nightly-$1/part"
exec 9>"/run/lock/nightly-$1.lock"
flock -n 9
systemd-run -q --unit="nightly-$1-helper" sleep infinity
install -m 600 /srv/vault-token "$RUNTIME_DIRECTORY/vault-token"
touch "/srv/told/registered-$1" /srv/told/holds
exec sleep infinity
`

// tutorialWorld is what docs/tutorial.md takes for granted: servers, and a job
// that uses them.
type tutorialWorld struct {
	t        *testing.T
	m        *rig.Machine
	vault    *servers.VaultServer
	consul   *servers.ConsulServer
	s3       *servers.S3Server
	postgres *servers.PostgresServer
	tokens   []string
	names    *strings.Replacer // from the page to here
	back     *strings.Replacer
}

func newTutorialWorld(t *testing.T, m *rig.Machine) *tutorialWorld {
	t.Helper()
	w := &tutorialWorld{
		t: t, m: m, vault: servers.Vault(t), consul: servers.Consul(t), s3: servers.S3(t), postgres: servers.Postgres(t),
	}
	database := fmt.Sprintf("%s:%d", w.postgres.Host, w.postgres.Port)
	w.names = strings.NewReplacer(
		"https://vault.example:8200", w.vault.Address, "https://consul.example:8501", w.consul.Address,
		"https://s3.example", w.s3.Endpoint, "db.example", database)
	w.back = strings.NewReplacer(
		w.vault.Address, "https://vault.example:8200", w.consul.Address, "https://consul.example:8501",
		w.s3.Endpoint, "https://s3.example", database, "db.example",
		strings.TrimPrefix(w.consul.Address, "http://"), "consul.example:8501")
	w.s3.Bucket("artifacts")
	w.postgres.Exec("postgres", "CREATE ROLE batch LOGIN PASSWORD '"+w.postgres.Password+"'", "CREATE DATABASE app OWNER batch")
	w.postgres.Exec("app", "SET ROLE batch", "CREATE SCHEMA staging", "CREATE TABLE staging.orders (job_id text, n int)",
		"INSERT INTO staging.orders VALUES ('70', 1)")
	w.install()
	return w
}

// install puts the job, its secrets and the shipped timer into the machine.
func (w *tutorialWorld) install() {
	w.t.Helper()
	installSweep(w.t, w.m)
	// The timer is not to come in between.
	w.m.Shell("mkdir -p /etc/systemd/system/job-cleanup-sweep.timer.d && hostname worker1")
	w.m.Write("/etc/systemd/system/job-cleanup-sweep.timer.d/later.conf", 0o644, "[Timer]\nOnBootSec=1d\n")
	w.m.Write("/usr/local/bin/nightly.sh", 0o755, nightlyJob)
	w.m.Write("/usr/local/bin/deregister", 0o755, "#!/bin/sh\nrm -f \"/srv/told/registered-$1\"\n")
	w.m.Write("/etc/nightly/postgres-password", 0o600, w.postgres.Password+"\n")
	w.m.Write("/etc/nightly/consul-token", 0o600, w.consul.Token+"\n")
	w.m.Write("/etc/nightly/s3-credentials", 0o600,
		fmt.Sprintf("[default]\naws_access_key_id=%s\naws_secret_access_key=%s\n", w.s3.AccessKey, w.s3.Secret))
}

// real puts the servers' real addresses into what the page says, and shown the
// page's ones into what is printed.
func (w *tutorialWorld) real(text string) string  { return w.names.Replace(text) }
func (w *tutorialWorld) shown(text string) string { return w.back.Replace(text) }

// meanwhile does what the page says that happens.
func (w *tutorialWorld) meanwhile(what string) {
	w.t.Helper()
	switch what {
	case "the job takes what it takes":
		w.take()
	case "the job is over":
		settle(w.m, "nightly@7.service")
		w.m.Shell("journalctl --sync")
	case "consul stops":
		w.consul.Stop()
	case "consul starts":
		w.consul.Start()
	default:
		w.t.Fatalf("the page says %q, which nobody can do", what)
	}
}

// take takes what a job has of the servers.
func (w *tutorialWorld) take() {
	w.t.Helper()
	token, _ := w.vault.Token(map[string]any{"ttl": "1h"})
	w.tokens = append(w.tokens, token)
	w.m.Write("/srv/vault-token", 0o600, token+"\n")
	w.m.WaitFor("the job holds what is on the machine", time.Minute, func() bool { return w.m.Exists("/srv/told/holds") })
	w.m.Shell("rm /srv/told/holds")
	w.postgres.Exec("app", "INSERT INTO staging.orders SELECT '7', n FROM generate_series(1, 1000) AS n")
	_, answer := w.consul.Do(http.MethodPut, "session/create", `{"Name":"nightly-7@worker1"}`)
	var session struct{ ID string }
	if err := json.Unmarshal([]byte(answer), &session); err != nil {
		w.t.Fatalf("consul: %v: %q", err, answer)
	}
	if _, answer = w.consul.Do(http.MethodPut, "kv/locks/nightly?acquire="+session.ID, "7"); answer != "true" {
		w.t.Fatalf("the lock is not taken: %q", answer)
	}
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	upload := &s3.CreateMultipartUploadInput{Bucket: aws.String("artifacts"), Key: aws.String("jobs/7/dump")}
	if _, err := w.s3.Client().CreateMultipartUpload(ctx, upload); err != nil {
		w.t.Fatal(err)
	}
}

// wantClean fails if anything of the job is left, or anything of another one
// is gone.
func (w *tutorialWorld) wantClean() {
	w.t.Helper()
	for _, path := range []string{"/var/tmp/nightly-7", "/run/lock/nightly-7.lock", "/srv/told/registered-7"} {
		if w.m.Exists(path) {
			w.t.Errorf("%s is left", path)
		}
	}
	if !w.m.Exists("/var/tmp/nightly-70") {
		w.t.Error("another job's tree is gone")
	}
	if state := w.m.Show("nightly-7-helper.service", "ActiveState")["ActiveState"]; state != "inactive" {
		w.t.Errorf("the helper is %s", state)
	}
	for _, token := range w.tokens {
		if w.vault.Valid(token) {
			w.t.Error("a token still works")
		}
	}
	if _, sessions := w.consul.Do(http.MethodGet, "session/list", ""); sessions != "[]" {
		w.t.Errorf("sessions of Consul: %s", sessions)
	}
	if ours, others := w.rows("7"), w.rows("70"); ours != 0 || others != 1 {
		w.t.Errorf("%d rows are left, and %d of another job", ours, others)
	}
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	list, err := w.s3.Client().ListMultipartUploads(ctx, &s3.ListMultipartUploadsInput{Bucket: aws.String("artifacts")})
	if err != nil || len(list.Uploads) > 0 {
		w.t.Errorf("uploads: %v, %+v", err, list)
	}
	if len(w.tokens) != 2 {
		w.t.Errorf("the job ran %d times", len(w.tokens))
	}
}

func (w *tutorialWorld) rows(job string) int {
	w.t.Helper()
	return w.postgres.Count("app", "SELECT count(*) FROM staging.orders WHERE job_id = $1", job)
}
