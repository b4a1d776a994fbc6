//go:build linux

package story

// unit is a template: its instance is the name of everything the job makes.
// TimeoutStartSec= is for the jobs that are to hit it.
const unit = `[Service]
Type=oneshot
RuntimeDirectory=batch-%i
TimeoutStartSec=5min
ExecStartPre=-+/usr/bin/job-cleanup arm
ExecStart=/usr/bin/batch-job /etc/batch/config.json %i ${RUNTIME_DIRECTORY}
ExecStopPost=-/usr/bin/job-cleanup run

[X-Cleanup.Path]
Remove=/var/tmp/batch-%i

[X-Cleanup.Vault]
Revoke=self
Token=file:%t/batch-%i/vault-token
Address=@VAULT@

[X-Cleanup.Consul]
ReleaseLock=locks/batch-%i
SessionName=batch-%i
Address=@CONSUL@
Token=file:/etc/batch/consul-token

[X-Cleanup.Consul]
DestroySession=batch-%i
Address=@CONSUL@
Token=file:/etc/batch/consul-token

[X-Cleanup.S3]
AbortUploads=s3://artifacts/jobs/%i/
Endpoint=@S3@
PathStyle=yes
AccessKeyID=@KEY@
SecretAccessKey=file:/etc/batch/s3-secret

[X-Cleanup.Postgres]
DropSchema=batch_%i
DSN=@POSTGRES@
Password=file:/etc/batch/postgres-password

[X-Cleanup.Redis]
DeleteKeys=batch:%i:
Address=@REDIS@
Password=file:/etc/batch/redis-password

[X-Cleanup.Amqp]
DeleteQueue=batch-%i
Address=@RABBITMQ@
Password=file:/etc/batch/amqp-password
`

// Unit returns batch@.service for this world.
func (w *World) Unit() string { return w.Fill(unit) }
