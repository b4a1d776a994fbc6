//go:build linux

package story

import (
	"strings"

	"job-cleanup/test/rig"
)

// Tracking is the job that tracks what it takes.
const Tracking = "tracking"

// trackedUnit has no plan. Its job runs as a user of its own and tracks what
// it takes.
const trackedUnit = `[Service]
Type=oneshot
User=worker
RuntimeDirectory=batch-%i
ExecStartPre=-+/usr/bin/job-cleanup arm
ExecStart=/usr/local/bin/tracking-job %i
ExecStopPost=-/usr/bin/job-cleanup run
`

// trackingJob tracks what has a name before it is there, and what has an id
// when the id is known.
const trackingJob = `#!/bin/sh -e
name=$1
export PATH=/usr/bin:/bin
job-cleanup track path "/var/tmp/batch-$name"
job-cleanup track postgres-schema "batch_$name" --dsn "@POSTGRES@" --password file:/etc/tracked/postgres-password
job-cleanup track redis-keys "batch:$name:" --address @REDIS@ --password file:/etc/tracked/redis-password
job-cleanup track amqp-queue "batch-$name" --address @RABBITMQ@ --password file:/etc/tracked/amqp-password

batch-job /etc/tracked/config.json "$name" "$RUNTIME_DIRECTORY"

session=$(cat "$RUNTIME_DIRECTORY/session")
job-cleanup track vault-token self --address @VAULT@ --token "file:$RUNTIME_DIRECTORY/vault-token"
job-cleanup track consul-lock "locks/batch-$name" --session "$session" --address @CONSUL@ --token file:/etc/tracked/consul-token
job-cleanup track consul-session "$session" --address @CONSUL@ --token file:/etc/tracked/consul-token
job-cleanup track s3-upload "s3://artifacts/jobs/$name/result.tar" --upload-id "$(cat "$RUNTIME_DIRECTORY/upload")" \
	--endpoint @S3@ --path-style yes --access-key-id @KEY@ --secret-access-key file:/etc/tracked/s3-secret
touch /srv/told/$name.tracked
while ! test -e /srv/told/$name.over; do sleep 0.1; done
exit 3
`

// BeginTracking starts the job Tracking and waits until it has tracked
// everything. EndTracking ends it with status 3.
func (w *World) BeginTracking(m *rig.Machine) {
	w.t.Helper()
	m.Shell("useradd worker")
	w.configure(m, "/etc/tracked", "worker")
	m.Write("/usr/local/bin/tracking-job", 0o755, w.Fill(trackingJob))
	m.Write("/etc/systemd/system/tracked@.service", 0o644, trackedUnit)
	w.End(m, Tracking, "0") // the part that takes things
	m.Shell("systemctl daemon-reload && systemctl start --no-block " + Name(Tracking))
	m.WaitFor("everything is tracked", busy, func() bool {
		return m.Exists(told+"/"+Tracking+".tracked") || over(m, Tracking)
	})
	if over(m, Tracking) {
		w.t.Fatalf("%s ended early:\n%s", Name(Tracking), m.Shell("journalctl -u "+Name(Tracking)))
	}
}

// EndTracking ends the job Tracking.
func (w *World) EndTracking(m *rig.Machine) {
	w.t.Helper()
	m.Shell("touch " + told + "/" + Tracking + ".over")
}

// Fill puts the servers' addresses into a text.
func (w *World) Fill(text string) string {
	return strings.NewReplacer(
		"@VAULT@", w.Vault.Address, "@CONSUL@", w.Consul.Address, "@S3@", w.S3.Endpoint, "@KEY@", w.S3.AccessKey,
		"@POSTGRES@", w.Postgres.DSN("postgres"), "@REDIS@", w.Redis.Address,
		"@RABBITMQ@", "amqp://"+w.RabbitMQ.User+"@"+w.RabbitMQ.Address,
	).Replace(text)
}
