package aws_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"job-cleanup/pkg/clean/aws"
	"job-cleanup/pkg/residue"
)

func TestWhoseProfile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials")
	own := t.TempDir()
	ci := residue.Job{Unit: "gitlab", Invocation: "gitlab-48151623-example.org", CI: true}
	tests := []struct {
		name, file, profile string
		job                 *residue.Job
		refused             bool
	}{
		{"instance", file, "dev-7", nil, false},
		{"unit", file, "x.batch@7", nil, false},
		{"invocation", file, "job-0123456789abcdef0123456789abcdef", nil, false},
		{"longer number", file, "dev-70", nil, true},
		{"number in a word", file, "dev7", nil, true},
		{"default", file, "default", nil, true},
		{"CI job", file, "ci-48151623", &ci, false},
		{"another CI job", file, "ci-481516230", &ci, true},
		{"platform's name", file, "my-example", &ci, true},
		{"own folder", filepath.Join(own, "credentials"), "default", nil, false},
		{"no name", file, "", nil, true},
		{"header", file, "7]\n[default", nil, true},
		{"relative file", "credentials", "dev-7", nil, true},
		{"dots", "/tmp/../etc/credentials", "dev-7", nil, true},
		{"system folder", "/etc/aws/credentials", "dev-7", nil, true},
		{"ledger", "/var/lib/job-cleanup/root/x", "dev-7", nil, true},
	}
	for _, tt := range tests {
		d := deps()
		if tt.job != nil {
			d.Job = *tt.job
		}
		d.Job.Bases = []string{own}
		_, err := aws.Kind.Open(profileSpec(tt.file, tt.profile), d)
		if e := residue.AsError(err); tt.refused != (e != nil && e.Class == residue.Refused) || !tt.refused && err != nil {
			t.Errorf("%s: %v, want refused %v", tt.name, err, tt.refused)
		}
	}
}

func TestAccessKeyIsProof(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials")
	write(t, file, section("default", "ASIAOURS", past))
	spec := profileSpec(file, "default")
	spec.Options["AccessKeyID"] = []string{"ASIAOURS"}
	c := open(t, spec, deps())
	r := one(t, c)
	spec.Options["AccessKeyID"] = []string{"ASIAELSE"}
	_, err := open(t, spec, deps()).Find(t.Context())
	want(t, err, residue.Lost, residue.Changed)
	if err := c.Remove(t.Context(), r); err != nil {
		t.Error(err)
	}
}

func TestDefaultFile(t *testing.T) {
	home := t.TempDir()
	must(t, os.Mkdir(filepath.Join(home, ".aws"), 0o700))
	write(t, filepath.Join(home, ".aws", "credentials"), section("batch-7", "ASIAOURS", past))
	d := deps()
	d.Job.User.Home = home
	spec := profileSpec("", "batch-7")
	if r := one(t, open(t, spec, d)); r.Proof["file"] != filepath.Join(home, ".aws", "credentials") {
		t.Errorf("found %v", r)
	}
	d.Job.User.Home = ""
	_, err := aws.Kind.Open(spec, d)
	want(t, err, residue.Refused, residue.Unset)
}

func TestWhoseCache(t *testing.T) {
	for path, refused := range map[string]bool{
		"/home/batch/.aws/cli/cache/0f.json":     false,
		"/home/batch/.aws/cli/cache/sub/0f.json": true,
		"/home/batch/.aws/config":                true,
		"/home/batch/.ssh/id_ed25519":            true,
		"/srv/cache/0f.json":                     false,
		"/srv/cache":                             true,
		"/srv/cache2/0f.json":                    true,
		"/etc/.aws/cli/cache/0f.json":            true,
	} {
		spec := cacheSpec(path)
		spec.Options = map[string][]string{"Within": {"/srv/cache"}}
		_, err := aws.Kind.Open(spec, deps())
		if e := residue.AsError(err); refused != (e != nil && e.Class == residue.Refused) {
			t.Errorf("%q: %v, want refused %v", path, err, refused)
		}
	}
	path := filepath.Join(t.TempDir(), "c.json")
	write(t, path, cacheText("ASIAOURS", past))
	d := deps()
	one(t, open(t, cacheSpec(path), d)) // made within the job
	for name, change := range map[string]func(*residue.Job){
		"before the job": func(j *residue.Job) { j.Start = time.Now().Add(time.Minute) },
		"after the job":  func(j *residue.Job) { j.End = j.Start.Add(time.Second) },
		"who knows":      func(j *residue.Job) { j.Start = time.Time{} },
	} {
		d := deps()
		change(&d.Job)
		_, err := open(t, cacheSpec(path), d).Find(t.Context())
		if e := residue.AsError(err); e == nil || e.Class != residue.Refused {
			t.Errorf("%s: %v, want refused", name, err)
		}
	}
}

func TestCacheThatIsNone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "c.json")
	d := deps()
	d.Job.Start = time.Time{}
	for _, text := range []string{"", "{}", "not JSON", `{"Credentials": {"AccessKeyId": "AS`, `{"accessToken": "x"}`} {
		write(t, path, text)
		_, err := open(t, cacheSpec(path), d).Find(t.Context())
		want(t, err, residue.Retry, residue.Changed)
	}
	d.Job.Bases = []string{dir} // in a folder of the job's own it is one that was cut short
	c := open(t, cacheSpec(path), d)
	r := one(t, c)
	if time.Until(r.Expires) < 35*time.Hour {
		t.Errorf("expires %v", r.Expires)
	}
	want(t, c.Remove(t.Context(), r), residue.Until, residue.Other)
	if _, err := os.Lstat(path); err == nil {
		t.Error("it is still there")
	}
}

func TestTrackedProfile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials")
	spec := profileSpec(file, "anything")
	spec.Tracked = &residue.Residue{Type: "profile", Ref: "anything"}
	intent, err := open(t, spec, deps()).(residue.Prover).Prove(t.Context())
	if err != nil || intent.Proof["key-id"] != "" {
		t.Fatalf("proved %v, %v; want an intent", intent, err)
	}
	write(t, file, section("anything", "ASIAOURS", past)+section("anything", "ASIAOURS", past))
	spec.Tracked = &intent
	c := open(t, spec, deps())
	if err := c.Remove(t.Context(), one(t, c)); err != nil || read(t, file) != "" {
		t.Errorf("%v; left %q", err, read(t, file))
	}
}

func TestSandbox(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "credentials")
	write(t, file, section("batch-7", "ASIAOURS", past))
	missing := filepath.Join(dir, "missing")
	tests := []struct {
		name    string
		how     residue.HiddenHow
		outside bool
		file    string
		class   residue.Class // of Find; Gone: nothing is found
		reason  residue.Reason
	}{
		{"private /tmp seen from outside", residue.Private, true, file, residue.Gone, ""},
		{"another tree outside", residue.Elsewhere, true, file, residue.Retry, residue.Changed},
		{"home hidden from us", residue.Masked, false, missing, residue.Retry, residue.Permission},
		{"nothing hidden", "", false, missing, residue.Gone, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := deps()
			d.Job.Outside, d.Job.Sandbox = tt.outside, []residue.Hidden{{Path: dir, How: tt.how}}
			found, err := open(t, profileSpec(tt.file, "batch-7"), d).Find(t.Context())
			if tt.class == residue.Gone && (err != nil || len(found) != 0) {
				t.Errorf("found %v, %v", found, err)
			} else if tt.class != residue.Gone {
				want(t, err, tt.class, tt.reason)
			}
		})
	}
}

// A home that is not mounted is no home without a session.
func TestFileSystemThatIsNotThere(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "home", "credentials")
	spec := profileSpec(missing, "batch-7")
	facts, err := open(t, spec, deps()).(residue.Preparer).Prepare(t.Context())
	if err != nil || facts["mount"] == "" {
		t.Fatal(facts, err)
	}
	spec.Facts = facts
	if found, err := open(t, spec, deps()).Find(t.Context()); err != nil || len(found) != 0 {
		t.Errorf("found %v, %v", found, err)
	}
	spec.Facts = map[string]string{"mount": "/home/that/was/mounted"}
	_, err = open(t, spec, deps()).Find(t.Context())
	want(t, err, residue.Retry, residue.Changed)
}
