//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"job-cleanup/test/servers"
)

// plan and hook do the same. JOB in a plan is the program's own matter.
const plan = `[X-Cleanup.Vault]
Revoke=self
Token=file:@FOLDER@/vault-token
Address=@VAULT@

[X-Cleanup.S3]
DeleteObjects=s3://artifacts/jobs/${JOB}/
Endpoint=@S3@
PathStyle=yes
AccessKeyID=@KEY@
SecretAccessKey=file:@FOLDER@/s3-secret

[X-Cleanup.Postgres]
Truncate=batch_${JOB}.orders
DSN=@POSTGRES@
Password=file:@FOLDER@/postgres-password

[X-Cleanup.Consul]
DeleteKeys=jobs/${JOB}/
Address=@CONSUL@
Token=file:@FOLDER@/consul-token
`

const hook = `#!/bin/sh
set -e
curl -sSf -X POST -H "X-Vault-Token: $(cat @FOLDER@/vault-token)" @VAULT@/v1/auth/token/revoke-self
export AWS_ACCESS_KEY_ID=@KEY@ AWS_SECRET_ACCESS_KEY="$(cat @FOLDER@/s3-secret)" AWS_DEFAULT_REGION=us-east-1
@AWS@ --endpoint-url @S3@ s3 rm --quiet --recursive "s3://artifacts/jobs/$JOB/"
PGPASSWORD="$(cat @FOLDER@/postgres-password)" psql -q -c "TRUNCATE batch_$JOB.orders" "@POSTGRES@"
@CLI@ kv delete -recurse -http-addr=@CONSUL@ -token-file=@FOLDER@/consul-token "jobs/$JOB/" >@FOLDER@/said
`

// describe writes the plan, the hook, and the secrets of both.
func (w *world) describe() error {
	cli, err := servers.ConsulProgram.Path()
	if err != nil {
		return err
	}
	aws := "/usr/bin/aws" // Debian's, whatever else is in the PATH
	if _, err := os.Stat(aws); err != nil {
		if aws, err = exec.LookPath("aws"); err != nil {
			return err
		}
	}
	fill := strings.NewReplacer("@FOLDER@", w.folder, "@VAULT@", w.vault.Address, "@CONSUL@", w.consul.Address,
		"@S3@", w.s3.Endpoint, "@KEY@", w.s3.AccessKey, "@POSTGRES@", w.postgres.DSN("postgres"), "@CLI@", cli, "@AWS@", aws)
	for _, file := range []struct {
		name, text string
		mode       os.FileMode
	}{
		{"plan", fill.Replace(plan), 0o600},
		{"hook", fill.Replace(hook), 0o700},
		{"s3-secret", w.s3.Secret, 0o600},
		{"consul-token", w.consul.Token, 0o600},
		{"postgres-password", w.postgres.Password, 0o600},
	} {
		if err := os.WriteFile(filepath.Join(w.folder, file.name), []byte(file.text), file.mode); err != nil {
			return err
		}
	}
	return nil
}
