package secret_test

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/secret"
)

const canary = "hvs.CANARY-0123456789"

func TestTextNeverShows(t *testing.T) {
	text := secret.New(canary)
	in := struct {
		Token secret.Text
		Many  []secret.Text
		Any   any
	}{text, []secret.Text{text}, &text}
	var shown []string
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		shown = append(shown, fmt.Sprintf(verb, text), fmt.Sprintf(verb, &text), fmt.Sprintf(verb, in))
	}
	for _, v := range []any{text, &text, in, map[string]secret.Text{"a": text}} {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		shown = append(shown, string(b))
	}
	shown = append(shown, fmt.Errorf("login with %v: %w", text, fs.ErrPermission).Error())
	for _, s := range shown {
		if strings.Contains(s, "CANARY") || strings.Contains(s, fmt.Sprintf("%x", canary)) {
			t.Errorf("secret in %q", s)
		}
		if !strings.Contains(s, secret.Redacted) && !strings.Contains(s, "0x") {
			t.Errorf("no %q in %q", secret.Redacted, s)
		}
	}
	if text.Reveal() != canary {
		t.Error("Reveal altered the secret")
	}
}

func TestParseRef(t *testing.T) {
	for _, text := range []string{"file:/run/batch/token", "env:VAULT_TOKEN", "credential:db.password", "stash:0123abcd"} {
		r, err := secret.ParseRef(text)
		if err != nil || r.String() != text {
			t.Errorf("ParseRef(%q) = %v, %v", text, r, err)
		}
	}
	bad := []string{
		"", canary, "file:" + canary, "env:" + canary, "env:9CANARY", "credential:../CANARY", "credential:.CANARY",
		"stash:a/CANARY", "file:/run/../CANARY", "file:/CANARY/", "file:/", "file:CANARY", "vault:CANARY", "FILE:/CANARY",
		"https://user:CANARY@host/", "/run/CANARY", "$CANARY", "env:", "env:CANARY\n", "credential:CAN ARY", "file:/CANARY\x00",
		"stash:" + strings.Repeat("CANARY", 50),
	}
	for _, text := range bad {
		_, err := secret.ParseRef(text)
		var e *secret.RefError
		if !errors.As(err, &e) || e.Hint == "" || e.Problem == "" {
			t.Errorf("ParseRef(%q) = %v, want a *RefError with a hint", text, err)
			continue
		}
		if strings.Contains(err.Error(), "CANARY") {
			t.Errorf("ParseRef(%q) echoes it: %v", text, err)
		}
	}
}

func TestScrub(t *testing.T) {
	long, part := secret.New("s/crét \"x\"&<y>"), secret.New("crét \"x\"&<y>zz")
	tests := []struct{ in, want string }{
		{"nothing here", "nothing here"},
		{`token s/crét "x"&<y>!`, "token [redacted]!"},
		{"s%2Fcr%C3%A9t+%22x%22%26%3Cy%3E", "[redacted]"},
		{"s%2Fcr%C3%A9t%20%22x%22&%3Cy%3E;", "[redacted];"},
		{`{"e":"s/crét \"x\"\u0026\u003cy\u003e"}`, `{"e":"[redacted]"}`},
		{`{"e":"s/crét \"x\"&<y>"}`, `{"e":"[redacted]"}`},
		{`s/crét "x"&<y>zz`, "[redacted]"}, // two secrets that overlap
		{`ss/crét "x"&<y>s/crét "x"&<y>`, "s[redacted]"},
		{"cy9jcsOpdCAieCImPHk+", "[redacted]"},
		{"", ""},
	}
	for _, tt := range tests {
		if got := secret.Scrub(tt.in, long, part, secret.Text{}); got != tt.want {
			t.Errorf("Scrub(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
	if got := secret.Scrub("aaaa", secret.New("aa")); got != secret.Redacted {
		t.Errorf("overlapping occurrences: %q", got)
	}
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestResolve(t *testing.T) {
	dir := t.TempDir()
	lookup := func(name string) (string, bool) { return canary, name == "TOKEN" }
	write(t, filepath.Join(dir, "one"), canary+"\n")
	write(t, filepath.Join(dir, "two"), canary+"\n\n")
	write(t, filepath.Join(dir, "empty"), "\n")
	write(t, filepath.Join(dir, "big"), strings.Repeat("x", 64<<10+1))
	write(t, filepath.Join(dir, "full"), strings.Repeat("x", 64<<10))
	if err := unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("one", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("loop", filepath.Join(dir, "loop")); err != nil {
		t.Fatal(err)
	}
	stash := &secret.Stash{Base: filepath.Join(dir, "stash"), Unit: "u", Invocation: "i",
		UID: os.Geteuid(), GID: os.Getegid(), AnyDisk: true}
	stashed, err := stash.Put(secret.Ref{Scheme: secret.Env, Name: "X"}, secret.New(canary))
	if err != nil {
		t.Fatal(err)
	}
	all := secret.Resolver{Env: lookup, Credentials: dir, Stash: stash}
	owner := uint32(os.Geteuid())
	file := "file:" + dir + "/"
	tests := []struct {
		name string
		r    secret.Resolver
		ref  string
		want string
		err  error
	}{
		{"file", all, file + "one", canary, nil},
		{"only one newline goes", all, file + "two", canary + "\n", nil},
		{"our own link", all, file + "link", canary, nil},
		{"loop", all, file + "loop", "", secret.ErrUnavailable},
		{"largest", all, file + "full", strings.Repeat("x", 64<<10), nil},
		{"too big", all, file + "big", "", secret.ErrUnavailable},
		{"empty", all, file + "empty", "", secret.ErrUnavailable},
		{"missing", all, file + "none", "", secret.ErrUnavailable},
		{"missing is told", all, file + "none", "", fs.ErrNotExist},
		{"fifo", all, file + "fifo", "", secret.ErrUnavailable},
		{"folder", all, "file:" + dir, "", secret.ErrUnavailable},
		{"device", all, "file:/dev/zero", "", secret.ErrUnavailable},
		{"environment", all, "env:TOKEN", canary, nil},
		{"unset", all, "env:OTHER", "", secret.ErrUnavailable},
		{"no environment", secret.Resolver{}, "env:TOKEN", "", secret.ErrForbidden},
		{"credential", all, "credential:one", canary, nil},
		{"credential link", all, "credential:link", "", secret.ErrUnavailable},
		{"no credentials", secret.Resolver{}, "credential:one", "", secret.ErrUnavailable},
		{"stash", all, stashed, canary, nil},
		{"stash missing", all, "stash:none", "", secret.ErrUnavailable},
		{"no stash", secret.Resolver{}, stashed, "", secret.ErrUnavailable},
		{"owner: file", secret.Resolver{Env: lookup, Owner: &owner}, file + "one", canary, nil},
		{"owner: no environment", secret.Resolver{Env: lookup, Owner: &owner}, "env:TOKEN", "", secret.ErrForbidden},
		{"owner: no credential", secret.Resolver{Credentials: dir, Owner: &owner}, "credential:one", "", secret.ErrForbidden},
		{"owner: no stash", secret.Resolver{Stash: stash, Owner: &owner}, stashed, "", secret.ErrForbidden},
		{"scheme", secret.Resolver{Schemes: []string{secret.Env}}, file + "one", "", secret.ErrForbidden},
	}
	for _, tt := range tests {
		got, err := tt.r.Resolve(tt.ref)
		if !errors.Is(err, tt.err) || got.Reveal() != tt.want {
			t.Errorf("%s: got %d bytes, error %v; want %d, %v", tt.name, len(got.Reveal()), err, len(tt.want), tt.err)
		}
		if err != nil && strings.Contains(err.Error(), "CANARY") {
			t.Errorf("%s: secret in the error %v", tt.name, err)
		}
	}
	if _, err := all.Resolve(canary); err == nil || strings.Contains(err.Error(), "CANARY") {
		t.Errorf("literal secret: %v", err)
	}
}

// A job that may write where root looks must not lead root to a file of
// root's.
func TestCase39_linksOfAJob(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to make files of another user")
	}
	const job = 4711
	dir := t.TempDir()
	roots := write(t, filepath.Join(dir, "roots"), canary)
	theirs := write(t, filepath.Join(dir, "theirs"), canary)
	for name, target := range map[string]string{"link": "roots", "folder": dir} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.Symlink(target, path), os.Lchown(path, job, job)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(theirs, job, job); err != nil {
		t.Fatal(err)
	}
	owner := uint32(job)
	tests := []struct {
		path  string
		owner *uint32
		err   error
	}{
		{roots, nil, nil},
		{theirs, nil, nil},
		{filepath.Join(dir, "link"), nil, secret.ErrForbidden},
		{filepath.Join(dir, "folder", "roots"), nil, secret.ErrForbidden},
		{roots, &owner, secret.ErrForbidden},
		{theirs, &owner, nil},
		{filepath.Join(dir, "link"), &owner, secret.ErrForbidden},
		{filepath.Join(dir, "folder", "theirs"), &owner, nil},
	}
	for _, tt := range tests {
		_, err := secret.Resolver{Owner: tt.owner}.Resolve("file:" + tt.path)
		if !errors.Is(err, tt.err) {
			t.Errorf("%q, owner %t: %v, want %v", tt.path, tt.owner != nil, err, tt.err)
		}
	}
}

// TestAuthorities: only a regular file with a certificate in it is read, and a
// FIFO that nobody writes to keeps nobody waiting.
func TestAuthorities(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	dir := t.TempDir()
	good, text, fifo, large := filepath.Join(dir, "good"), filepath.Join(dir, "text"), filepath.Join(dir, "fifo"), filepath.Join(dir, "large")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	err := errors.Join(os.WriteFile(good, block, 0o600), os.WriteFile(text, []byte("text"), 0o600), unix.Mkfifo(fifo, 0o600),
		os.WriteFile(large, block, 0o600), os.Truncate(large, 4<<20+1))
	if err != nil {
		t.Fatal(err)
	}
	if pool, err := secret.Authorities(""); pool != nil || err != nil {
		t.Errorf("no path: %v, %v", pool, err)
	}
	if pool, err := secret.Authorities(good); pool == nil || err != nil {
		t.Errorf("a certificate: %v, %v", pool, err)
	}
	for _, path := range []string{text, fifo, large, dir, "/dev/zero", filepath.Join(dir, "none")} {
		if pool, err := secret.Authorities(path); pool != nil || err == nil {
			t.Errorf("%s: %v, %v", path, pool, err)
		}
	}
}
