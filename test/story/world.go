//go:build linux

// Package story is one batch job in a whole world: it takes something from
// every server that there is a kind for, and leaves it all behind. The tests
// tell what becomes of that, whichever way the job ends.
package story

import (
	"encoding/json"
	"net/http"
	"path/filepath"

	"job-cleanup/test/rig"
	"job-cleanup/test/servers"
	"job-cleanup/test/story/config"
)

// World is the servers, all of them running.
type World struct {
	Vault    *servers.VaultServer
	Consul   *servers.ConsulServer
	S3       *servers.S3Server
	Postgres *servers.PostgresServer
	Redis    *servers.RedisServer
	RabbitMQ *servers.RabbitMQServer

	t             rig.T
	vaultPassword string // of the job
}

// NewWorld starts the servers and lets the job in.
func NewWorld(t rig.T) *World {
	t.Helper()
	w := &World{
		Vault: servers.Vault(t), Consul: servers.Consul(t), S3: servers.S3(t),
		Postgres: servers.Postgres(t), Redis: servers.Redis(t), RabbitMQ: servers.RabbitMQ(t),
		t: t, vaultPassword: servers.NewSecret(),
	}
	w.Vault.Policy("batch", `path "lease/creds/*" { capabilities = ["read"] }`)
	w.Vault.Must(w.Vault.Root, http.MethodPost, "auth/userpass/users/batch",
		map[string]any{"password": w.vaultPassword, "token_policies": []string{"batch"}})
	w.S3.Bucket("artifacts")
	return w
}

// Servers returns the servers by the kind that cleans them.
func (w *World) Servers() map[string]Server {
	return map[string]Server{
		"vault": w.Vault, "consul": w.Consul, "s3": w.S3, "postgres": w.Postgres, "redis": w.Redis, "amqp": w.RabbitMQ,
	}
}

// Server is one that can be away for a while.
type Server interface {
	Start()
	Stop()
}

// told is where the job and its test tell each other things.
const told = "/srv/told"

// config is what the job gets to know.
func (w *World) config() config.Config {
	return config.Config{
		Told:         told,
		VaultAddress: w.Vault.Address, VaultPassword: w.vaultPassword,
		ConsulAddress: w.Consul.Address, ConsulToken: w.Consul.Token,
		S3Endpoint: w.S3.Endpoint, S3AccessKey: w.S3.AccessKey, S3Secret: w.S3.Secret,
		PostgresURL:  w.Postgres.URL("postgres"),
		RedisAddress: w.Redis.Address, RedisPassword: w.Redis.Password,
		AMQPURL: w.RabbitMQ.URL(),
	}
}

// Secrets are those that are in no way to be seen: with what the job logs in
// and what its cleanup uses. The job's Vault tokens come on top.
func (w *World) Secrets() []string {
	return []string{w.vaultPassword, w.Consul.Token, w.S3.Secret, w.Postgres.Password, w.Redis.Password, w.RabbitMQ.Password}
}

// Build builds the program under test and the job, both static, and returns
// them as options that show them to a machine.
func Build(t rig.T) []rig.Option {
	t.Helper()
	folder := t.TempDir()
	var binds []rig.Option
	for guest, what := range map[string]string{
		"/usr/bin/job-cleanup": rig.Program,
		"/usr/bin/batch-job":   "job-cleanup/test/story/job",
	} {
		binary := filepath.Join(folder, filepath.Base(guest))
		if err := rig.Build(what, binary); err != nil {
			t.Fatal(err)
		}
		binds = append(binds, rig.Bind(binary, guest))
	}
	return binds
}

// Install puts the job's unit, batch@.service, its configuration and the
// cleanup's secrets into a machine.
func (w *World) Install(m *rig.Machine) {
	w.t.Helper()
	w.configure(m, "/etc/batch", "root")
	m.Write("/etc/systemd/system/batch@.service", 0o644, w.Unit())
	m.Shell("mkdir -p -m 1777 " + told + " && systemctl daemon-reload")
}

// configure writes the job's configuration and the secrets for a user.
func (w *World) configure(m *rig.Machine, folder, user string) {
	w.t.Helper()
	text, err := json.Marshal(w.config())
	if err != nil {
		w.t.Fatal(err)
	}
	m.Write(folder+"/config.json", 0o600, string(text))
	for name, secret := range map[string]string{
		"consul-token": w.Consul.Token, "s3-secret": w.S3.Secret, "postgres-password": w.Postgres.Password,
		"redis-password": w.Redis.Password, "amqp-password": w.RabbitMQ.Password,
	} {
		m.Write(folder+"/"+name, 0o600, secret+"\n")
	}
	m.Shell("chown -R " + user + " " + folder)
}
