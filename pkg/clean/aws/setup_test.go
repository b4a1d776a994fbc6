package aws_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"job-cleanup/pkg/clean/aws"
	"job-cleanup/pkg/residue"
)

const (
	canary = "canary-SECRET-access-key"
	past   = "2020-01-02T03:04:05Z"
)

// deps are those of a hook of batch@7.service that began a minute ago.
func deps() residue.Deps {
	return residue.Deps{
		Job: residue.Job{
			Unit: "batch@7.service", Invocation: "0123456789abcdef0123456789abcdef", Start: time.Now().Add(-time.Minute),
			User: &residue.Identity{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())},
		},
		Now: time.Now,
	}
}

// profileSpec is a plan's for a profile in a file.
func profileSpec(file, name string) residue.Spec {
	return residue.Spec{Kind: "aws", Selector: "RemoveProfile", Value: name, Options: map[string][]string{"File": {file}}}
}

func cacheSpec(path string) residue.Spec {
	return residue.Spec{Kind: "aws", Selector: "RemoveCache", Value: path}
}

// section is a profile with keys, as tools write it.
func section(name, id, ends string) string {
	text := fmt.Sprintf("[%s]\naws_access_key_id = %s\naws_secret_access_key = %s\naws_session_token = %s-token\n", name, id, canary, canary)
	if ends != "" {
		text += "aws_session_expiration = " + ends + "\n"
	}
	return text
}

// cacheText is what the AWS CLI keeps of an assumed role.
func cacheText(id, ends string) string {
	return fmt.Sprintf(`{"Credentials": {"AccessKeyId": %q, "SecretAccessKey": %q, "SessionToken": "t", "Expiration": %q}}`, id, canary, ends)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func add(t testing.TB, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func open(t testing.TB, spec residue.Spec, deps residue.Deps) residue.Cleaner {
	t.Helper()
	c, err := aws.Kind.Open(spec, deps)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// one is the only residue that is found.
func one(t testing.TB, c residue.Cleaner) residue.Residue {
	t.Helper()
	found, err := c.Find(t.Context())
	if err != nil || len(found) != 1 {
		t.Fatalf("found %v, %v; want one", found, err)
	}
	return found[0]
}

// want fails unless err has that class and reason.
func want(t testing.TB, err error, class residue.Class, reason residue.Reason) {
	t.Helper()
	e := residue.AsError(err)
	if e == nil || e.Class != class || e.Reason != reason {
		t.Errorf("error %v (%+v), want class %d and reason %q", err, e, class, reason)
	}
	if err != nil && strings.Contains(err.Error(), canary) {
		t.Errorf("a secret is shown: %v", err)
	}
}

// clean fails when anything but the named files is in their folder.
func clean(t testing.TB, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.Contains(e.Name(), "job-cleanup") {
			t.Errorf("%s was left behind", e.Name())
		}
	}
}
