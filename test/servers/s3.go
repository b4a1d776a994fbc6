//go:build linux

package servers

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"job-cleanup/test/rig"
)

// gateway is the S3 server: real multipart uploads and versions on a plain
// folder.
const gateway, gatewayVersion = "github.com/versity/versitygw/cmd/versitygw", "v1.8.0"

// S3Server is an S3 gateway over a folder. Buckets are addressed by path.
type S3Server struct {
	*Server
	Endpoint          string // http://127.0.0.1:PORT
	Region            string
	AccessKey, Secret string // of the owner of everything
}

// S3 starts one.
func S3(t rig.T) *S3Server {
	t.Helper()
	binary, err := gatewayBinary()
	if err != nil {
		t.Skipf("needs versitygw: %v", err)
	}
	listen := loopback(freePort(t))
	s := &S3Server{
		Server: newServer(t, "s3"), Endpoint: "http://" + listen, Region: "us-east-1",
		AccessKey: "test-owner", Secret: NewSecret(),
	}
	data, versions := filepath.Join(s.folder, "data"), filepath.Join(s.folder, "versions")
	for _, folder := range []string{data, versions} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.command = func() *exec.Cmd {
		cmd := exec.Command(binary, "--port", listen, "--region", s.Region, "--quiet", "posix", "--versioning-dir", versions, data)
		cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY_ID="+s.AccessKey, "ROOT_SECRET_ACCESS_KEY="+s.Secret)
		return cmd
	}
	// Without credentials it denies, but it is there to do so.
	s.answers = func(ctx context.Context) error { return wantStatus(ctx, s.Endpoint, http.StatusForbidden) }
	s.Start()
	return s
}

// Client returns a client with the owner's credentials.
func (s *S3Server) Client() *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: aws.String(s.Endpoint), Region: s.Region, UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(s.AccessKey, s.Secret, ""),
	})
}

// Bucket makes a bucket.
func (s *S3Server) Bucket(name string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), askLimit)
	defer cancel()
	if _, err := s.Client().CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(name)}); err != nil {
		s.t.Fatal(err)
	}
}

// gatewayBinary builds the gateway on first use.
func gatewayBinary() (string, error) {
	return cached("versitygw-"+gatewayVersion, "versitygw", func(folder string) error {
		return run(folder, []string{"CGO_ENABLED=0", "GOFLAGS=", "GOBIN=" + folder}, "go", "install", gateway+"@"+gatewayVersion)
	})
}
