package s3_test

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"job-cleanup/pkg/clean/s3"
	"job-cleanup/pkg/residue"
)

func TestCase19_oneUploadIsRecorded(t *testing.T) {
	w := enter(t)
	empty := false
	f := newFake(t, w, func(op string, _ int, _ *http.Request) *answer {
		if op == "ListMultipartUploads" && empty {
			return page(false, "", "", time.Now())
		}
		return nil
	})
	for name, listing := range map[string]bool{"whole listing": false, "empty listing": true} {
		t.Run(name, func(t *testing.T) {
			empty = listing
			f.asked = nil
			ids := []string{w.begin(t, "jobs/1/a"), w.begin(t, "jobs/1/a"), w.begin(t, "jobs/1/b")}
			spec := f.spec("AbortUploads", w.ref("jobs/1/a"), map[string]string{"upload-id": ids[0]})
			spec.Options["AccessKeyID"] = []string{w.store.AccessKey}
			c := open(t, spec, w.deps())
			found, err := c.Find(t.Context())
			if err != nil || len(found) != 1 || found[0].ID != spec.Tracked.ID {
				t.Fatalf("found %v, %v; want what was tracked", found, err)
			}
			if err := c.Remove(t.Context(), found[0]); err != nil {
				t.Fatal(err)
			}
			left := slices.Sorted(maps.Keys(w.uploads(t)))
			if slices.Contains(left, ids[0]) || !slices.Contains(left, ids[1]) || !slices.Contains(left, ids[2]) {
				t.Errorf("left are %v of %v", left, ids)
			}
			var aborts []string
			for _, a := range f.asked {
				if strings.HasPrefix(a, "Abort") {
					aborts = append(aborts, a)
				}
			}
			if len(aborts) != 1 || !strings.Contains(aborts[0], ids[0]) {
				t.Errorf("aborts sent: %v", aborts)
			}
		})
	}
}

// A store that takes the prefix of a listing for an exact key is asked for the
// whole bucket, of which only our prefix counts.
func TestCase19_prefixIsTakenForAKey(t *testing.T) {
	w := enter(t)
	f := newFake(t, w, func(op string, _ int, r *http.Request) *answer {
		if op == "ListMultipartUploads" && r.URL.Query().Get("prefix") != "" {
			return page(false, "", "", time.Now())
		}
		return nil
	})
	mine, other := w.begin(t, "jobs/1/a"), w.begin(t, "jobs/10/a")
	spec := f.spec("AbortUploads", w.ref("jobs/1/"), nil)
	spec.Options["AccessKeyID"] = []string{w.store.AccessKey}
	found, err := open(t, spec, w.deps()).Find(t.Context())
	if err != nil || len(found) != 1 || found[0].Proof["upload-id"] != mine {
		t.Errorf("found %v, %v; want %s and not %s", found, err, mine, other)
	}
}

func TestCase34_dataBeforeCredentials(t *testing.T) {
	for _, s := range s3.Kind.Selectors {
		if s.Phase != residue.Data || s.Phase >= residue.Credentials {
			t.Errorf("%s= is of phase %d", s.Key, s.Phase)
		}
	}
}

func TestCase12_unreachable(t *testing.T) {
	f := newFake(t, nil, nil)
	f.Close()
	for _, selector := range []string{"AbortUploads", "DeleteObjects"} {
		c := open(t, f.spec(selector, "s3://bucket/jobs/1/", nil), depsWith("key"))
		found, err := c.Find(t.Context())
		want(t, err, residue.Unreachable, residue.NoAnswer)
		if len(found) != 0 {
			t.Errorf("found %v", found)
		}
		err = c.Remove(t.Context(), residue.Residue{Ref: "s3://bucket/jobs/1/a", Proof: map[string]string{"upload-id": "u"}})
		want(t, err, residue.Unreachable, residue.NoAnswer)
		if e := c.(residue.Endpointer); e.Endpoint() != f.URL {
			t.Errorf("endpoint %q, want %q", e.Endpoint(), f.URL)
		}
	}
}

func TestCase18_failedLookUpIsOwed(t *testing.T) {
	for _, status := range []int{500, 503, 429} {
		f := newFake(t, nil, func(op string, _ int, _ *http.Request) *answer {
			if strings.HasPrefix(op, "List") {
				return fault(status, "InternalError", "try later")
			}
			return nil // the fake complains
		})
		for _, selector := range []string{"AbortUploads", "DeleteObjects"} {
			found, err := open(t, f.spec(selector, "s3://bucket/jobs/1/", nil), depsWith("key")).Find(t.Context())
			want(t, err, residue.Retry, residue.Other)
			if len(found) != 0 {
				t.Errorf("found %v", found)
			}
		}
	}
}

func TestCase48_prefixes(t *testing.T) {
	f := newFake(t, nil, nil)
	for _, value := range []string{
		"s3://bucket/jobs/1", "s3://bucket/", "s3://bucket", "s3:///jobs/1/", "s3://../jobs/1/", "s3://b/jobs/1/", "https://bucket/jobs/1/",
		"jobs/1/", "", "s3://arn:aws:s3:::x/jobs/1/", "s3://bucket/" + strings.Repeat("x", 1024) + "/",
	} {
		for _, selector := range []string{"AbortUploads", "DeleteObjects"} {
			_, err := s3.Kind.Open(f.spec(selector, value, nil), depsWith("key"))
			if e := residue.AsError(err); e == nil || e.Class != residue.Refused {
				t.Errorf("%s=%q: %v, want refused", selector, value, err)
			}
		}
	}
	w := enter(t)
	mine, other := w.begin(t, "jobs/1/a"), w.begin(t, "jobs/10/a")
	w.put(t, "jobs/1/o", "x")
	w.put(t, "jobs/10/o", "x")
	for _, selector := range []string{"AbortUploads", "DeleteObjects"} {
		c := open(t, w.spec(selector, w.ref("jobs/1/")), w.deps())
		found, err := c.Find(t.Context())
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: found %v, %v", selector, found, err)
		}
		if err := c.Remove(t.Context(), found[0]); err != nil {
			t.Fatal(err)
		}
		// What a ledger says is not believed about the place.
		far := residue.Residue{Ref: w.ref("jobs/10/a"), Proof: map[string]string{"upload-id": other}}
		want(t, c.Remove(t.Context(), far), residue.Refused, residue.OutsideBase)
	}
	left := w.uploads(t)
	if left[mine] != "" || left[other] == "" {
		t.Errorf("uploads left: %v", left)
	}
	if _, ok := w.read(t, "jobs/10/o"); !ok {
		t.Error("jobs/10/o is gone")
	}
	if _, ok := w.read(t, "jobs/1/o"); ok {
		t.Error("jobs/1/o is still there")
	}
}

func TestOnlyWhatBeganWithinTheJob(t *testing.T) {
	w := enter(t)
	now := time.Now()
	w.begin(t, "jobs/1/a")
	w.put(t, "jobs/1/o", "x")
	tests := []struct {
		name       string
		start, end time.Time
		count      int
	}{
		{"during the job", now.Add(-time.Minute), time.Time{}, 1},
		{"in the same second", now, time.Time{}, 1},
		{"before the job", now.Add(2 * time.Second), time.Time{}, 0},
		{"after the job", now.Add(-time.Hour), now.Add(-time.Minute), 0},
		{"until its end", now.Add(-time.Hour), now.Add(time.Second), 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, selector := range []string{"AbortUploads", "DeleteObjects"} {
				deps := w.deps()
				deps.Job.Start, deps.Job.End = tt.start, tt.end
				found, err := open(t, w.spec(selector, w.ref("jobs/1/")), deps).Find(context.Background())
				if err != nil || len(found) != tt.count {
					t.Errorf("%s: found %v, %v; want %d", selector, found, err, tt.count)
				}
			}
		})
	}
}
