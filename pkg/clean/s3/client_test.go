package s3_test

import (
	"context"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"job-cleanup/pkg/clean/s3"
	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
)

func TestEndpoints(t *testing.T) {
	tests := []struct{ endpoint, region, want string }{
		{"https://s3.example.net/", "", "https://s3.example.net"},
		{"http://127.0.0.1:9000", "eu-west-1", "http://127.0.0.1:9000"},
		{"", "eu-west-1", "https://s3.eu-west-1.amazonaws.com"},
		{"", "cn-north-1", "https://s3.cn-north-1.amazonaws.com.cn"},
		{"", "", ""},
		{"", "eu west", ""},
		{"", "x.evil.example/", ""},
		{"s3.example.net", "", ""},
		{"file:///etc", "", ""},
		{"https://user:pass@s3.example.net", "", ""},
		{"https://s3.example.net/?x=y", "", ""},
	}
	for _, tt := range tests {
		spec := residue.Spec{Selector: "AbortUploads", Value: "s3://bucket/jobs/1/", Options: map[string][]string{
			"Endpoint": {tt.endpoint}, "Region": {tt.region}, "AccessKeyID": {"id"}, "SecretAccessKey": {"file:/secret"},
		}}
		c, err := s3.Kind.Open(spec, depsWith("key"))
		switch e := residue.AsError(err); {
		case tt.want == "" && (e == nil || e.Class != residue.Refused):
			t.Errorf("%q in %q: %v, want refused", tt.endpoint, tt.region, err)
		case tt.want != "" && err != nil:
			t.Errorf("%q in %q: %v", tt.endpoint, tt.region, err)
		case tt.want != "" && c.(residue.Endpointer).Endpoint() != tt.want:
			t.Errorf("%q in %q: endpoint %q, want %q", tt.endpoint, tt.region, c.(residue.Endpointer).Endpoint(), tt.want)
		case err != nil && strings.Contains(err.Error(), "pass"):
			t.Errorf("the password is shown: %v", err)
		}
	}
}

// The job's tools went to another store: Amazon is not asked in its place.
func TestEndpointForAllServices(t *testing.T) {
	deps := depsWith("key")
	deps.Env = func(name string) (string, bool) { return "http://127.0.0.1:9000", name == "AWS_ENDPOINT_URL" }
	spec := residue.Spec{Selector: "AbortUploads", Value: "s3://bucket/jobs/1/", Options: map[string][]string{
		"Region": {"eu-west-1"}, "AccessKeyID": {"id"}, "SecretAccessKey": {"file:/secret"},
	}}
	_, err := s3.Kind.Open(spec, deps)
	want(t, err, residue.Retry, residue.Unset)
}

const sharedFile = `
# keys of two jobs
[default]
aws_access_key_id = WRONG
aws_secret_access_key = wrong

[batch]
aws_access_key_id=RIGHT ; ours
  AWS_Secret_Access_Key = right/key+x==
aws_session_token = token==
`

func TestSharedCredentials(t *testing.T) {
	var seen *http.Request
	f := newFake(t, nil, func(_ string, _ int, r *http.Request) *answer {
		seen = r
		return page(false, "", "", time.Now())
	})
	spec := f.spec("AbortUploads", "s3://bucket/jobs/1/", nil)
	spec.Options["Credentials"], spec.Options["Profile"] = []string{"file:/home/batch/.aws/credentials"}, []string{"batch"}
	if _, err := open(t, spec, depsWith(sharedFile)).Find(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := seen.Header.Get("Authorization"); !strings.Contains(got, "Credential=RIGHT/") || seen.Header.Get("X-Amz-Security-Token") != "token==" {
		t.Errorf("signed with %q and %q", got, seen.Header.Get("X-Amz-Security-Token"))
	}
	spec.Options["Profile"] = []string{"other"}
	_, err := s3.Kind.Open(spec, depsWith(sharedFile))
	want(t, err, residue.Retry, residue.NoCredentials)
}

func TestNothingToProveOurselvesWith(t *testing.T) {
	f := newFake(t, nil, nil)
	spec := f.spec("AbortUploads", "s3://bucket/jobs/1/", nil)
	delete(spec.Options, "AccessKeyID")
	_, err := s3.Kind.Open(spec, depsWith("key"))
	want(t, err, residue.Retry, residue.NoCredentials)

	// What a job tracks is recorded all the same, and nothing is sent unsigned.
	spec = f.spec("AbortUploads", "s3://bucket/jobs/1/a", map[string]string{"upload-id": "u"})
	delete(spec.Options, "SecretAccessKey")
	c := open(t, spec, depsWith("key"))
	_, err = c.Find(t.Context())
	want(t, err, residue.Retry, residue.NoCredentials)
	want(t, c.Remove(t.Context(), *spec.Tracked), residue.Retry, residue.NoCredentials)

	deps := depsWith("")
	refused := residue.Errorf(residue.Refused, residue.Protected, "no")
	deps.Secret = func(string) (secret.Text, error) { return secret.Text{}, refused }
	_, err = s3.Kind.Open(f.spec("AbortUploads", "s3://bucket/jobs/1/a", map[string]string{"upload-id": "u"}), deps)
	if !errors.Is(err, refused) {
		t.Errorf("a reference that is not allowed: %v", err)
	}
}

// Whatever stands in the environment, requests go where the plan says.
func TestEnvironmentIsNotRead(t *testing.T) {
	trap := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("the trap got %s", r.URL) }))
	defer trap.Close()
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_EC2_METADATA_SERVICE_ENDPOINT"} {
		t.Setenv(name, trap.URL)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "ENVIRONMENT")
	t.Setenv("AWS_MAX_ATTEMPTS", "9")
	f := newFake(t, nil, func(_ string, _ int, r *http.Request) *answer {
		if strings.Contains(r.Header.Get("Authorization"), "ENVIRONMENT") {
			t.Error("signed with a key of the environment")
		}
		return fault(500, "InternalError", "")
	})
	_, err := open(t, f.spec("AbortUploads", "s3://bucket/jobs/1/", nil), depsWith("key")).Find(t.Context())
	want(t, err, residue.Retry, residue.Other)
	if f.count["ListMultipartUploads"] != 1 {
		t.Errorf("asked %d times, want once", f.count["ListMultipartUploads"])
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	trap := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("the trap got %s", r.URL) }))
	defer trap.Close()
	server := httptest.NewServer(http.RedirectHandler(trap.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	spec := (&fake{Server: server}).spec("AbortUploads", "s3://bucket/jobs/1/", nil)
	_, err := open(t, spec, depsWith("key")).Find(t.Context())
	want(t, err, residue.Retry, residue.Other)
}

func TestSilentStore(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // the backlog takes connections that nobody answers
	server := &httptest.Server{URL: "http://" + l.Addr().String()}
	c := open(t, (&fake{Server: server}).spec("AbortUploads", "s3://bucket/jobs/1/", nil), depsWith("key"))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err = c.Find(ctx)
	want(t, err, residue.Retry, residue.Deadline)
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestServersWordsAreBoundedAndScrubbed(t *testing.T) {
	key := "canary/SECRET+key=="
	f := newFake(t, nil, func(string, int, *http.Request) *answer {
		return fault(403, "SignatureDoesNotMatch", "you sent "+key+" "+strings.Repeat("and more ", 1000))
	})
	_, err := open(t, f.spec("AbortUploads", "s3://bucket/jobs/1/", nil), depsWith(key)).Find(t.Context())
	want(t, err, residue.Retry, residue.Permission)
	if strings.Contains(err.Error(), "SECRET") || len(err.Error()) > 500 {
		t.Errorf("%d bytes: %v", len(err.Error()), err)
	}
}

func TestAnswerWithoutAnEnd(t *testing.T) {
	f := newFake(t, nil, func(string, int, *http.Request) *answer {
		return ok("<ListMultipartUploadsResult>" + strings.Repeat(" ", 20<<20))
	})
	_, err := open(t, f.spec("AbortUploads", "s3://bucket/jobs/1/", nil), depsWith("key")).Find(t.Context())
	if e := residue.AsError(err); e == nil || e.Class != residue.Retry {
		t.Errorf("an endless answer: %v", err)
	}
}

func TestAuthority(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(page(false, "", "", time.Now()).body))
	}))
	defer server.Close()
	spec := (&fake{Server: server}).spec("AbortUploads", "s3://bucket/jobs/1/", nil)
	spec.Options["Endpoint"] = []string{server.URL}
	_, err := open(t, spec, depsWith("key")).Find(t.Context())
	want(t, err, residue.Unreachable, residue.NoAnswer) // nobody we know vouches for it

	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o644); err != nil {
		t.Fatal(err)
	}
	spec.Options["CACert"] = []string{ca}
	if _, err := open(t, spec, depsWith("key")).Find(t.Context()); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(ca, []byte("no certificate"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = s3.Kind.Open(spec, depsWith("key"))
	want(t, err, residue.Retry, residue.Other)
}
