package postgres

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"job-cleanup/pkg/clean/cleantest"
	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
)

// Nothing of the process environment or the home folder is used.
func TestNothingBehindOurBack(t *testing.T) {
	home := t.TempDir()
	for name, text := range map[string]string{
		".pgpass": "*:*:*:*:evil\n", ".pg_service.conf": "[evil]\nhost=evil\n", ".postgresql/root.crt": "evil", ".postgresql/postgresql.crt": "evil", ".postgresql/postgresql.key": "evil",
	} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for key, value := range map[string]string{
		"HOME": home, "PGHOST": "evil", "PGPORT": "666", "PGDATABASE": "evil", "PGUSER": "evil", "PGPASSWORD": "evil", "PGPASSFILE": home + "/.pgpass", "PGAPPNAME": "evil",
		"PGSSLMODE": "verify-full", "PGSSLKEY": "/evil", "PGSSLCERT": "/evil", "PGSSLROOTCERT": "/evil", "PGOPTIONS": "-c evil=1", "PGTZ": "evil", "PGCONNECT_TIMEOUT": "evil",
		"PGTARGETSESSIONATTRS": "evil", "PGSSLCERTMODE": "evil", "PGCHANNELBINDING": "evil", "PGREQUIREAUTH": "evil", "PGSSLNEGOTIATION": "evil", "PGMINPROTOCOLVERSION": "evil", "PGSSLSNI": "evil",
	} {
		t.Setenv(key, value)
	}
	spec := residue.Spec{Selector: "DropSchema", Value: "job_1", Options: map[string][]string{"User": {"me"}, "Host": {"db.example"}}}
	srv, err := newServer(spec, depsOf("x"))
	if err != nil {
		t.Fatal(err)
	}
	config := srv.config
	if config.Host != "db.example" || config.Port != 5432 || config.User != "me" || config.Database != "me" || config.Password != "" ||
		len(config.RuntimeParams) != 1 || len(config.Fallbacks) != 1 || config.TLSConfig == nil || config.TLSConfig.RootCAs != nil || config.SSLNegotiation != "" {
		t.Errorf("the environment shows in %+v", config)
	}
	t.Setenv("PGSERVICE", "evil")
	if _, err := newServer(spec, depsOf("x")); cleantest.Verdict(err) != "refused error" {
		t.Errorf("a service that the library finds by itself: %v", err)
	}
}

// files answers for references to files.
func files(texts map[string]string) func(string) (secret.Text, error) {
	return func(ref string) (secret.Text, error) {
		text, ok := texts[ref]
		if !ok {
			return secret.Text{}, residue.Errorf(residue.Retry, residue.NoCredentials, "no %q", ref)
		}
		return secret.New(text), nil
	}
}

func TestConnectionSettings(t *testing.T) {
	texts := map[string]string{
		"file:/pass":    "db:5433:app:job:p@ss\\:w\nlocalhost:5432:job:job:local\n",
		"file:/service": "[one]\nhost=db\nport=5433\ndbname=app\nuser=job\nsslmode=disable\nconnect_timeout=5\n[two]\nhost=db\npassword=inside\nuser=job\n[odd]\nsslcrl=/x\n",
		"env:PASS":      "direct",
	}
	tests := []struct{ options, want string }{
		{"User=u", "u: @[/run/postgresql]:5432/u"},
		{"DSN=postgresql://job@db:5433/app?sslmode=disable;PassFile=/pass", "job:p@ss:w@[db]:5433/app"},
		{"DSN=postgres://job@[::1]/app", "job: @[::1]:5432/app"},
		{"DSN=host=db port=5433 user=job dbname=app;PassFile=/pass", "job:p@ss:w@[db]:5433/app"},
		{`DSN=host = 'a b' user='it\'s' dbname=x\ y`, "it's: @[a b]:5432/x y"},
		{"DSN=user=job;Host=other", "job: @[other]:5432/job"},
		{"DSN=host=db user=job;Host=other", "job: @[db]:5432/job"},
		{"Service=one;ServiceFile=/service;PassFile=/pass", "job:p@ss:w@[db]:5433/app"},
		{"Service=two;ServiceFile=/service;Database=d;Host=other", "job:inside@[db]:5432/d"},
		{"Service=two;ServiceFile=/service;Password=env:PASS", "job:direct@[db]:5432/job"},
		{"DSN=service=one;ServiceFile=/service", "job: @[db]:5433/app"},
		{"User=job;PassFile=/pass", "job:local@[/run/postgresql]:5432/job"},
		{"", "refused error"}, {"Service=one", "refused error"}, {"Service=none;ServiceFile=/service", "owed error"}, {"Service=odd;ServiceFile=/service", "refused error"},
		{"User=u;PassFile=/nowhere", "owed no-credentials"}, {"User=u;Password=env:NONE", "owed no-credentials"},
		{"DSN=postgresql://job:hush@db/app", "refused error"}, {"DSN=postgresql://db/app?user=u&password=hush", "refused error"}, {"DSN=user=u password=hush", "refused error"},
		{"DSN=user=u password = 'hush'", "refused error"}, {"DSN=postgresql://u:hush@db:port/x", "refused error"}, {"DSN=hush", "refused error"}, {"DSN=user='hush", "refused error"},
		{"DSN=user=u options=-csearch_path=x", "refused error"}, {"DSN=user=u sslpassword=hush", "refused error"}, {"DSN=user=u servicefile=/x service=y", "refused error"},
		{"User=u;SSLMode=strict", "refused error"}, {"User=u;Port=99999", "refused error"}, {"User=u;Host=db;CACert=/no/such/file", "owed no-credentials"},
		{"User=u;LockTimeoutSec=infinity", "refused error"}, {"User=u;StatementTimeoutSec=0", "refused error"}, {"User=u;LockTimeoutSec=soon", "refused error"},
	}
	for _, tt := range tests {
		spec := residue.Spec{Selector: "DropSchema", Value: "job_1", Options: map[string][]string{}}
		for pair := range strings.SplitSeq(tt.options, ";") {
			if key, value, ok := strings.Cut(pair, "="); ok {
				spec.Options[key] = []string{value}
			}
		}
		srv, err := newServer(spec, residue.Deps{Secret: files(texts)})
		got := cleantest.Verdict(err)
		if err == nil {
			c := srv.config
			password := c.Password
			if password == "" {
				password = " "
			}
			got = fmt.Sprintf("%s:%s@[%s]:%d/%s", c.User, password, c.Host, c.Port, c.Database)
		} else if strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: the error shows the password: %v", tt.options, err)
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s (%v)", tt.options, got, tt.want, err)
		}
	}
}

func TestUserOfTheJob(t *testing.T) {
	deps := depsOf("x")
	deps.Job.User = &residue.Identity{UID: 7, Name: "batch"}
	srv, err := newServer(residue.Spec{Selector: "DropSchema", Value: "job_1"}, deps)
	if err != nil || srv.config.User != "batch" {
		t.Errorf("user %q, %v; want the job's", srv.config.User, err)
	}
}
