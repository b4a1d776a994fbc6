package s3_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"job-cleanup/pkg/residue"
)

func TestAllVersionsAndMarkers(t *testing.T) {
	w := enter(t)
	w.keepVersions(t)
	w.put(t, "jobs/1/a", "one")
	w.put(t, "jobs/1/a", "two")
	key := "jobs/1/a"
	if _, err := w.DeleteObject(t.Context(), &awss3.DeleteObjectInput{Bucket: &w.bucket, Key: &key}); err != nil {
		t.Fatal(err)
	}
	w.put(t, "jobs/1/ab", "other")
	w.put(t, "jobs/10/a", "other")
	c := open(t, w.spec("DeleteObjects", w.ref("jobs/1/")), w.deps())
	found, err := c.Find(t.Context())
	if err != nil || len(found) != 4 {
		t.Fatalf("found %v, %v; want two versions, a marker and another object", found, err)
	}
	markers := 0
	for _, r := range found {
		if r.Proof["marker"] == "yes" {
			markers++
		}
		if err := c.Remove(t.Context(), r); err != nil {
			t.Errorf("remove %v: %v", r, err)
		}
		want(t, c.Remove(t.Context(), r), residue.Gone, "absent")
	}
	if markers != 1 || w.versions(t, key) != 0 || w.versions(t, "jobs/10/a") != 1 {
		t.Errorf("%d markers found; %d and %d versions left", markers, w.versions(t, key), w.versions(t, "jobs/10/a"))
	}
}

func TestTrackedObjects(t *testing.T) {
	w := enter(t)
	w.keepVersions(t)
	first := w.put(t, "jobs/1/a", "one")
	w.put(t, "jobs/1/a", "two")
	w.put(t, "jobs/1/ab", "other")
	c := open(t, w.tracked("DeleteObjects", "object", w.ref("jobs/1/a"), map[string]string{"version-id": first}), w.deps())
	found, err := c.Find(t.Context())
	if err != nil || len(found) != 1 || found[0].Proof["version-id"] != first {
		t.Fatalf("found %v, %v; want version %s", found, err, first)
	}
	if err := c.Remove(t.Context(), found[0]); err != nil {
		t.Fatal(err)
	}
	if found, err = c.Find(t.Context()); err != nil || len(found) != 0 {
		t.Errorf("found %v, %v; want nothing", found, err)
	}
	c = open(t, w.tracked("DeleteObjects", "object", w.ref("jobs/1/a"), nil), w.deps())
	if found, err = c.Find(t.Context()); err != nil || len(found) != 1 {
		t.Fatalf("found %v, %v; want the other version", found, err)
	}
	if err := c.Remove(t.Context(), found[0]); err != nil {
		t.Fatal(err)
	}
	if w.versions(t, "jobs/1/a") != 0 || w.versions(t, "jobs/1/ab") != 1 {
		t.Errorf("%d and %d versions left", w.versions(t, "jobs/1/a"), w.versions(t, "jobs/1/ab"))
	}
}

func TestObjectWrittenAgain(t *testing.T) {
	w := enter(t)
	w.put(t, "jobs/1/a", "one")
	c := open(t, w.spec("DeleteObjects", w.ref("jobs/1/")), w.deps())
	found, err := c.Find(t.Context())
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	w.put(t, "jobs/1/a", "somebody else's")
	want(t, c.Remove(t.Context(), found[0]), residue.Lost, residue.Changed)
	if text, ok := w.read(t, "jobs/1/a"); !ok || text != "somebody else's" {
		t.Errorf("the object is %q, %v", text, ok)
	}
}

func TestObjectsOfAJobWithoutAStart(t *testing.T) {
	w := enter(t)
	deps := w.deps()
	deps.Job.Start = time.Time{}
	w.put(t, "jobs/1/a", "x")
	_, err := open(t, w.spec("DeleteObjects", w.ref("jobs/1/")), deps).Find(t.Context())
	want(t, err, residue.Retry, residue.Unset)
	own := "jobs/" + deps.Job.Invocation + "/"
	w.put(t, own+"a", "x")
	found, err := open(t, w.spec("DeleteObjects", w.ref(own)), deps).Find(t.Context())
	if err != nil || len(found) != 1 {
		t.Errorf("found %v, %v; a name with the invocation in it is proof enough", found, err)
	}
}

func TestLockedObject(t *testing.T) {
	w := enter(t)
	yes, key := true, "jobs/1/a"
	w.bucket = "locked-bucket"
	if _, err := w.CreateBucket(t.Context(), &awss3.CreateBucketInput{Bucket: &w.bucket, ObjectLockEnabledForBucket: &yes}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.PutObject(t.Context(), &awss3.PutObjectInput{
		Bucket: &w.bucket, Key: &key, Body: strings.NewReader("x"), ObjectLockLegalHoldStatus: types.ObjectLockLegalHoldStatusOn,
	}); err != nil {
		t.Fatal(err)
	}
	c := open(t, w.spec("DeleteObjects", w.ref("jobs/1/")), w.deps())
	found, err := c.Find(t.Context())
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	want(t, c.Remove(t.Context(), found[0]), residue.Retry, residue.Immutable)
}

func versionsPage(objects string) *answer {
	return ok("<ListVersionsResult><IsTruncated>false</IsTruncated>" + objects + "</ListVersionsResult>")
}

func TestDeletionIsProven(t *testing.T) {
	const there = "<Version><Key>jobs/1/a</Key><VersionId>v</VersionId><LastModified>2026-01-01T00:00:00Z</LastModified></Version>"
	tests := []struct {
		name   string
		delete *answer
		after  string
		class  residue.Class
		reason residue.Reason
	}{
		{"done", ok(""), "", 0, ""},
		{"success that is none", ok(""), there, residue.Retry, residue.Other},
		{"gone meanwhile", fault(404, "NoSuchKey", ""), "", 0, ""},
		{"locked at Amazon", fault(403, "AccessDenied", "Access Denied because object protected by object lock."), there, residue.Retry, residue.Immutable},
		{"may not", fault(403, "AccessDenied", "Access Denied"), there, residue.Retry, residue.Permission},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, nil, func(op string, n int, r *http.Request) *answer {
				switch {
				case op == "DeleteObject" && r.URL.Query().Get("versionId") == "v":
					return tt.delete
				case op == "ListObjectVersions" && n == 1:
					return versionsPage(there)
				case op == "ListObjectVersions":
					return versionsPage(tt.after)
				}
				return nil
			})
			c := open(t, f.spec("DeleteObjects", "s3://bucket/jobs/1/", nil), depsWith("key"))
			err := c.Remove(t.Context(), residue.Residue{Type: "object", Ref: "s3://bucket/jobs/1/a", Proof: map[string]string{"version-id": "v"}})
			if tt.reason == "" && err != nil {
				t.Error(err)
			} else if tt.reason != "" {
				want(t, err, tt.class, tt.reason)
			}
		})
	}
}

// A store that knows no versions is asked for objects, and deletes by name.
func TestStoreWithoutVersions(t *testing.T) {
	w := enter(t)
	f := newFake(t, w, func(op string, _ int, r *http.Request) *answer {
		switch {
		case op == "ListObjectVersions":
			return fault(501, "NotImplemented", "not implemented")
		case op == "DeleteObject" && r.URL.Query().Has("versionId"):
			return fault(400, "InvalidArgument", "no versions here")
		}
		return nil
	})
	w.put(t, "jobs/1/a", "x")
	w.put(t, "jobs/10/a", "x")
	spec := f.spec("DeleteObjects", w.ref("jobs/1/"), nil)
	spec.Options["AccessKeyID"] = []string{w.store.AccessKey}
	c := open(t, spec, w.deps())
	found, err := c.Find(t.Context())
	if err != nil || len(found) != 1 || found[0].Proof["version-id"] != "" {
		t.Fatalf("found %v, %v", found, err)
	}
	if err := c.Remove(t.Context(), found[0]); err != nil {
		t.Fatal(err)
	}
	want(t, c.Remove(t.Context(), found[0]), residue.Gone, "absent")
	if _, ok := w.read(t, "jobs/10/a"); !ok {
		t.Error("jobs/10/a is gone")
	}
}
