package s3_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
	"job-cleanup/test/servers"
)

// world is a bucket of a real store, seen by a client of the test's own.
type world struct {
	*s3.Client
	gate   *gate
	store  *servers.S3Server
	bucket string
}

// enter makes a bucket in a real store that a job talks to through a gate.
func enter(t testing.TB) *world {
	t.Helper()
	s := servers.S3(t)
	w := &world{Client: s.Client(), store: s, gate: newGate(t, strings.TrimPrefix(s.Endpoint, "http://")), bucket: "jobs-bucket"}
	s.Bucket(w.bucket)
	return w
}

// options are a plan's for the store behind the gate.
func (w *world) options() map[string][]string {
	return map[string][]string{
		"Endpoint": {"http://" + w.gate.addr}, "PathStyle": {"yes"}, "Profile": {"default"},
		"AccessKeyID": {w.store.AccessKey}, "SecretAccessKey": {"file:/run/s3-secret"},
	}
}

// spec is a plan's for a prefix or a tracked reference.
func (w *world) spec(selector, value string) residue.Spec {
	return residue.Spec{Kind: "s3", Selector: selector, Value: value, Options: w.options()}
}

// tracked is the spec of a thing that the job wrote down.
func (w *world) tracked(selector, kind, ref string, proof map[string]string) residue.Spec {
	spec := w.spec(selector, ref)
	spec.Tracked = &residue.Residue{Type: kind, Ref: ref, Proof: proof}
	spec.Tracked.Identify()
	return spec
}

// deps are those of a job that began a minute ago.
func (w *world) deps() residue.Deps { return depsWith(w.store.Secret) }

func depsWith(key string) residue.Deps {
	return residue.Deps{
		Job:    residue.Job{Unit: "batch@1.service", Invocation: "0123456789abcdef0123456789abcdef", Start: time.Now().Add(-time.Minute)},
		Secret: func(string) (secret.Text, error) { return secret.New(key), nil },
		Now:    time.Now,
	}
}

// begin starts an upload with one part in it.
func (w *world) begin(t testing.TB, key string) (id string) {
	t.Helper()
	out, err := w.CreateMultipartUpload(context.Background(), &s3.CreateMultipartUploadInput{Bucket: &w.bucket, Key: &key})
	if err != nil {
		t.Fatal(err)
	}
	part := int32(1)
	if _, err = w.UploadPart(context.Background(), &s3.UploadPartInput{
		Bucket: &w.bucket, Key: &key, UploadId: out.UploadId, PartNumber: &part, Body: bytes.NewReader([]byte("part")),
	}); err != nil {
		t.Fatal(err)
	}
	return *out.UploadId
}

// uploads lists what is under way, as key and id.
func (w *world) uploads(t testing.TB) map[string]string {
	t.Helper()
	out, err := w.ListMultipartUploads(context.Background(), &s3.ListMultipartUploadsInput{Bucket: &w.bucket})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, u := range out.Uploads {
		all[*u.UploadId] = *u.Key
	}
	return all
}

func (w *world) underWay(t testing.TB, key string) bool {
	for _, k := range w.uploads(t) {
		if k == key {
			return true
		}
	}
	return false
}

func (w *world) put(t testing.TB, key, text string) (version string) {
	t.Helper()
	out, err := w.PutObject(context.Background(), &s3.PutObjectInput{Bucket: &w.bucket, Key: &key, Body: strings.NewReader(text)})
	if err != nil {
		t.Fatalf("put %q: %v", key, err)
	}
	return aws.ToString(out.VersionId)
}

// read returns what an object holds, "" and false when it is not there.
func (w *world) read(t testing.TB, key string) (string, bool) {
	t.Helper()
	out, err := w.GetObject(context.Background(), &s3.GetObjectInput{Bucket: &w.bucket, Key: &key})
	var api smithy.APIError
	if errors.As(err, &api) && api.ErrorCode() == "NoSuchKey" {
		return "", false
	}
	if err != nil {
		t.Fatal(err)
	}
	defer out.Body.Close()
	text, err := io.ReadAll(out.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), true
}

// keepVersions switches the bucket's versioning on.
func (w *world) keepVersions(t testing.TB) {
	t.Helper()
	_, err := w.PutBucketVersioning(context.Background(), &s3.PutBucketVersioningInput{
		Bucket: &w.bucket, VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// versionsOf lists the versions and delete markers of one key; of a store that
// knows none the object itself, as nil.
func (w *world) versionsOf(t testing.TB, key string) (all []*string) {
	t.Helper()
	out, err := w.ListObjectVersions(context.Background(), &s3.ListObjectVersionsInput{Bucket: &w.bucket, Prefix: &key})
	var api smithy.APIError
	if errors.As(err, &api) && api.ErrorCode() == "NotImplemented" {
		if _, ok := w.read(t, key); ok {
			all = append(all, nil)
		}
		return all
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range out.Versions {
		if *v.Key == key {
			all = append(all, v.VersionId)
		}
	}
	for _, m := range out.DeleteMarkers {
		if *m.Key == key {
			all = append(all, m.VersionId)
		}
	}
	return all
}

func (w *world) versions(t testing.TB, key string) int { return len(w.versionsOf(t, key)) }

// name is the key of a reference into the bucket.
func (w *world) name(ref string) string { return strings.TrimPrefix(ref, "s3://"+w.bucket+"/") }

// ref is the reference of a key.
func (w *world) ref(key string) string { return fmt.Sprintf("s3://%s/%s", w.bucket, key) }

// gate passes connections on to a server until it is shut: then they are
// refused.
type gate struct {
	addr, server string
	mu           sync.Mutex
	listener     net.Listener
	open         map[net.Conn]bool
}

func newGate(t testing.TB, server string) *gate {
	g := &gate{server: server, addr: "127.0.0.1:0", open: map[net.Conn]bool{}}
	g.up(t)
	t.Cleanup(g.down)
	return g
}

func (g *gate) up(t testing.TB) {
	t.Helper()
	l, err := net.Listen("tcp", g.addr)
	if err != nil {
		t.Fatal(err)
	}
	g.mu.Lock()
	g.listener, g.addr = l, l.Addr().String()
	g.mu.Unlock()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go g.pass(conn)
		}
	}()
}

func (g *gate) pass(conn net.Conn) {
	far, err := net.Dial("tcp", g.server)
	if err != nil {
		conn.Close()
		return
	}
	g.mu.Lock()
	g.open[conn], g.open[far] = true, true
	g.mu.Unlock()
	go func() { _, _ = io.Copy(far, conn); far.Close(); conn.Close() }()
	_, _ = io.Copy(conn, far)
	far.Close()
	conn.Close()
}

func (g *gate) down() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.listener.Close()
	for c := range g.open {
		c.Close()
	}
	clear(g.open)
}
