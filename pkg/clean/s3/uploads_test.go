package s3_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"job-cleanup/pkg/residue"
)

var gone = func() *answer { return fault(404, "NoSuchUpload", "no such upload") }

func TestAbortIsProven(t *testing.T) {
	tests := []struct {
		name   string
		abort  func(n int) *answer
		parts  func(n int) *answer
		class  residue.Class
		reason residue.Reason // "" for removed
		aborts int
	}{
		{"done at once", func(int) *answer { return ok("") }, func(int) *answer { return gone() }, 0, "", 1},
		{"parts in flight", func(int) *answer { return ok("") }, func(n int) *answer { return held(max(0, 2-n)) }, 0, "", 2},
		{"empty, but is it known?", func(int) *answer { return ok("") }, func(int) *answer { return held(0) }, 0, "", 2},
		{"success that is none", func(int) *answer { return ok("") }, func(int) *answer { return held(1) }, residue.Retry, residue.StillWritten, 5},
		{"second abort finds nothing", func(n int) *answer {
			if n == 2 {
				return gone()
			}
			return ok("")
		}, func(int) *answer { return held(1) }, 0, "", 2},
		{"gone before", func(int) *answer { return gone() }, nil, residue.Gone, "absent", 1},
		{"another 404", func(int) *answer { return &answer{status: 404, body: "<html>not here</html>"} }, nil, residue.Retry, residue.Other, 1},
		{"may not abort", func(int) *answer { return fault(403, "AccessDenied", "no") }, nil, residue.Retry, residue.Permission, 1},
		{"may not look", func(int) *answer { return ok("") }, func(int) *answer { return fault(403, "AccessDenied", "no") }, residue.Retry, residue.Permission, 1},
		{"session over", func(int) *answer { return fault(400, "ExpiredToken", "the token has expired") }, nil, residue.Retry, residue.NoCredentials, 1},
		{"busy", func(int) *answer { return fault(503, "SlowDown", "slow down") }, nil, residue.Retry, residue.Other, 1},
		{"elsewhere", func(int) *answer { return fault(301, "PermanentRedirect", "use another endpoint") }, nil, residue.Retry, residue.Other, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, nil, func(op string, n int, _ *http.Request) *answer {
				switch {
				case op == "AbortMultipartUpload":
					return tt.abort(n)
				case op == "ListParts" && tt.parts != nil:
					return tt.parts(n)
				}
				return nil
			})
			c := open(t, f.spec("AbortUploads", "s3://bucket/jobs/1/", nil), depsWith("key"))
			err := c.Remove(t.Context(), residue.Residue{Type: "upload", Ref: "s3://bucket/jobs/1/a", Proof: map[string]string{"upload-id": "u"}})
			if tt.reason == "" && err != nil {
				t.Error(err)
			} else if tt.reason != "" {
				want(t, err, tt.class, tt.reason)
			}
			if f.count["AbortMultipartUpload"] != tt.aborts {
				t.Errorf("%d aborts, want %d", f.count["AbortMultipartUpload"], tt.aborts)
			}
		})
	}
}

func TestListingIsPagedByBothMarkers(t *testing.T) {
	now := time.Now()
	f := newFake(t, nil, func(op string, n int, r *http.Request) *answer {
		q := r.URL.Query()
		at := q.Get("key-marker") + " " + q.Get("upload-id-marker")
		switch at {
		case " ":
			return page(true, "jobs/1/a", "u1", now, "jobs/1/a", "u1")
		case "jobs/1/a u1":
			return page(true, "jobs/1/a", "u2", now, "jobs/1/a", "u2")
		case "jobs/1/a u2":
			return page(false, "", "", now, "jobs/1/b", "u3", "jobs/10/a", "u4")
		}
		return fault(400, "InvalidArgument", at)
	})
	found, err := open(t, f.spec("AbortUploads", "s3://bucket/jobs/1/", nil), depsWith("key")).Find(t.Context())
	if err != nil || len(found) != 3 {
		t.Errorf("found %v, %v; want three", found, err)
	}
}

func TestListingWithoutAnEnd(t *testing.T) {
	f := newFake(t, nil, func(string, int, *http.Request) *answer {
		return page(true, "jobs/1/a", "u1", time.Now(), "jobs/1/a", "u1")
	})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	found, err := open(t, f.spec("AbortUploads", "s3://bucket/jobs/1/", nil), depsWith("key")).Find(ctx)
	want(t, err, residue.Retry, residue.Other)
	if len(found) == 0 || f.count["ListMultipartUploads"] != 2 {
		t.Errorf("found %v with %d requests", found, f.count["ListMultipartUploads"])
	}
}

func TestLastSecondsAreNotSpentOnPages(t *testing.T) {
	f := newFake(t, nil, func(_ string, n int, _ *http.Request) *answer {
		return page(true, "jobs/1/a", fmt.Sprint(n), time.Now(), "jobs/1/a", fmt.Sprint(n))
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	found, err := open(t, f.spec("AbortUploads", "s3://bucket/jobs/1/", nil), depsWith("key")).Find(ctx)
	want(t, err, residue.Retry, residue.Deadline)
	if len(found) != 1 {
		t.Errorf("found %v, want the first page's", found)
	}
}

// A store whose clock is an hour ahead of ours tells its own times.
func TestStoreWithAnotherClock(t *testing.T) {
	ahead := time.Hour
	f := newFake(t, nil, func(string, int, *http.Request) *answer {
		a := page(false, "", "", time.Now().Add(ahead-30*time.Second), "jobs/1/mine", "u1")
		other := page(false, "", "", time.Now().Add(ahead-2*time.Hour), "jobs/1/before", "u2")
		a.body = a.body[:len(a.body)-len("</ListMultipartUploadsResult>")] + other.body[len("<ListMultipartUploadsResult>"):]
		a.date = time.Now().Add(ahead)
		return a
	})
	deps := depsWith("key")
	deps.Job.End = time.Now()
	found, err := open(t, f.spec("AbortUploads", "s3://bucket/jobs/1/", nil), deps).Find(t.Context())
	if err != nil || len(found) != 1 || found[0].Proof["upload-id"] != "u1" {
		t.Errorf("found %v, %v", found, err)
	}
}

func TestTrackedUploads(t *testing.T) {
	w := enter(t)
	first, second := w.begin(t, "jobs/1/a"), w.begin(t, "jobs/1/a")
	w.begin(t, "jobs/1/ab")

	// Without an id: all of that very key, within the job.
	c := open(t, w.tracked("AbortUploads", "upload", w.ref("jobs/1/a"), nil), w.deps())
	found, err := c.Find(t.Context())
	if err != nil || len(found) != 2 {
		t.Fatalf("found %v, %v; want %s and %s", found, err, first, second)
	}
	// With one: that upload, whenever it began and wherever it lies.
	deps := w.deps()
	deps.Job.Start = time.Now().Add(time.Hour)
	c = open(t, w.tracked("AbortUploads", "upload", w.ref("jobs/1/a"), map[string]string{"upload-id": first}), deps)
	if found, err = c.Find(t.Context()); err != nil || len(found) != 1 {
		t.Fatalf("found %v, %v", found, err)
	}
	if err := c.Remove(t.Context(), found[0]); err != nil {
		t.Fatal(err)
	}
	if found, err = c.Find(t.Context()); err != nil || len(found) != 0 {
		t.Errorf("found %v, %v; want nothing", found, err)
	}
	if len(w.uploads(t)) != 2 {
		t.Errorf("left %v", w.uploads(t))
	}
}

// Who may abort but not look lets the abort tell; anything else is no proof.
func TestTrackedUploadThatCannotBeLookedAt(t *testing.T) {
	for code, found := range map[string]int{"AccessDenied": 1, "NotImplemented": 1, "NoSuchUpload": 0, "NoSuchBucket": 0} {
		f := newFake(t, nil, func(string, int, *http.Request) *answer { return fault(404, code, "") })
		c := open(t, f.spec("AbortUploads", "s3://bucket/jobs/1/a", map[string]string{"upload-id": "u"}), depsWith("key"))
		if all, err := c.Find(t.Context()); err != nil || len(all) != found {
			t.Errorf("%s: found %v, %v; want %d", code, all, err, found)
		}
	}
	for _, code := range []string{"NoSuchKey", "InternalError", "ExpiredToken", "SignatureDoesNotMatch"} {
		f := newFake(t, nil, func(string, int, *http.Request) *answer { return fault(403, code, "") })
		c := open(t, f.spec("AbortUploads", "s3://bucket/jobs/1/a", map[string]string{"upload-id": "u"}), depsWith("key"))
		if all, err := c.Find(t.Context()); err == nil || len(all) != 0 {
			t.Errorf("%s: found %v, %v; want an error", code, all, err)
		}
	}
}

func TestUploadsOfAJobWithoutAStart(t *testing.T) {
	w := enter(t)
	w.begin(t, "jobs/1/a")
	deps := w.deps()
	deps.Job.Start = time.Time{}
	found, err := open(t, w.spec("AbortUploads", w.ref("jobs/1/")), deps).Find(t.Context())
	if err != nil || len(found) != 1 {
		t.Errorf("found %v, %v", found, err)
	}
}

func TestMissingBucket(t *testing.T) {
	f := newFake(t, nil, func(string, int, *http.Request) *answer { return fault(404, "NoSuchBucket", "no such bucket") })
	for _, selector := range []string{"AbortUploads", "DeleteObjects"} {
		spec := f.spec(selector, "s3://bucket/jobs/1/", nil)
		_, err := open(t, spec, depsWith("key")).Find(t.Context())
		want(t, err, residue.Retry, residue.Other) // a plan's mistake is not a clean bucket
		err = open(t, spec, depsWith("key")).Remove(t.Context(), residue.Residue{
			Ref: "s3://bucket/jobs/1/a", Proof: map[string]string{"upload-id": "u", "modified": "2026-01-01T00:00:00Z"},
		})
		want(t, err, residue.Gone, "absent") // but what stood in it has gone with it
	}
}

// XML can't carry every key; then keys are asked for in another form, and only
// then.
func TestKeysThatXMLCannotCarry(t *testing.T) {
	now := time.Now()
	const key, form = "jobs/1/a+b\x01%", "jobs/1/a%2Bb%01%25"
	f := newFake(t, nil, func(op string, _ int, r *http.Request) *answer {
		encoded := r.URL.Query().Get("encoding-type") == "url"
		switch {
		case op == "AbortMultipartUpload" && r.URL.Path == "/bucket/"+key:
			return gone()
		case op == "ListMultipartUploads" && !encoded:
			return page(false, "", "", now, "jobs/1/a+b&#x1;%", "u1")
		case op == "ListMultipartUploads" && r.URL.Query().Get("key-marker") == "":
			a := page(true, form, "u1", now, form, "u1")
			a.body = strings.Replace(a.body, "<Upload>", "<EncodingType>url</EncodingType><Upload>", 1)
			return a
		case op == "ListMultipartUploads" && r.URL.Query().Get("key-marker") == key:
			return page(false, "", "", now)
		}
		return nil
	})
	c := open(t, f.spec("AbortUploads", "s3://bucket/jobs/1/", nil), depsWith("key"))
	found, err := c.Find(t.Context())
	if err != nil || len(found) != 1 || found[0].Ref != "s3://bucket/"+key {
		t.Fatalf("found %q, %v", found, err)
	}
	want(t, c.Remove(t.Context(), found[0]), residue.Gone, "absent")

	f = newFake(t, nil, func(string, int, *http.Request) *answer { return ok("<html>") })
	_, err = open(t, f.spec("AbortUploads", "s3://bucket/jobs/1/", nil), depsWith("key")).Find(t.Context())
	want(t, err, residue.Retry, residue.Other)
}
