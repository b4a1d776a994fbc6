package s3_test

import (
	"context"
	"fmt"
	"path"
	"sync/atomic"
	"testing"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"job-cleanup/pkg/clean/cleantest"
	"job-cleanup/pkg/clean/s3"
	"job-cleanup/pkg/residue"
)

const wrongKey = "wrong-secret-9876543210"

// subject is what both selectors have in common. The references are keys,
// each alone in its folder; that folder is the plan's prefix.
func subject(w *world, selector string) cleantest.Subject {
	var n atomic.Int32
	return cleantest.Subject{
		Kind: s3.Kind,
		Spec: func(ref string) residue.Spec { return w.spec(selector, w.ref(path.Dir(w.name(ref)))+"/") },
		Deps: func(testing.TB) residue.Deps { return w.deps() },
		Make: func(t testing.TB) string {
			key := fmt.Sprintf("jobs/%03d/part", n.Add(1))
			if selector == "AbortUploads" {
				w.begin(t, key)
			} else {
				w.put(t, key, "half")
			}
			return w.ref(key)
		},
		Down:             func(testing.TB) { w.gate.down() },
		Up:               func(t testing.TB) { w.gate.up(t) },
		WrongCredentials: func(testing.TB) residue.Deps { return depsWith(wrongKey) },
		Secrets:          []string{w.store.Secret, wrongKey},
	}
}

// beside are keys that begin like one of the subject's, but are not in its
// folder.
func beside(key string) []string { return []string{path.Dir(key) + "0/part", path.Dir(key) + "-part"} }

func TestUploadsConformance(t *testing.T) {
	w := enter(t)
	s := subject(w, "AbortUploads")
	s.Exists = func(t testing.TB, ref string) bool { return w.underWay(t, w.name(ref)) }
	s.Remove = func(t testing.TB, ref string) { w.abortAll(t, w.name(ref)) }
	s.State = func(t testing.TB, _ string) string { return fmt.Sprint(w.uploads(t)) }
	s.Decoy = func(t testing.TB, ref string) func() error {
		var ids []string
		for _, key := range beside(w.name(ref)) {
			ids = append(ids, w.begin(t, key))
		}
		return func() error {
			for _, id := range ids {
				if _, ok := w.uploads(t)[id]; !ok {
					return fmt.Errorf("upload %s is gone", id)
				}
			}
			return nil
		}
	}
	cleantest.Run(t, s)
}

func TestObjectsConformance(t *testing.T) {
	for name, versioned := range map[string]bool{"plain": false, "versioned": true} {
		t.Run(name, func(t *testing.T) {
			w := enter(t)
			if versioned {
				w.keepVersions(t)
			}
			s := subject(w, "DeleteObjects")
			s.Exists = func(t testing.TB, ref string) bool { return w.versions(t, w.name(ref)) > 0 }
			s.Remove = func(t testing.TB, ref string) { w.deleteAll(t, w.name(ref)) }
			s.Decoy = func(t testing.TB, ref string) func() error {
				keys := beside(w.name(ref))
				for _, key := range keys {
					w.put(t, key, key)
				}
				return func() error {
					for _, key := range keys {
						if text, ok := w.read(t, key); !ok || text != key {
							return fmt.Errorf("object %q: %v, %q", key, ok, text)
						}
					}
					return nil
				}
			}
			cleantest.Run(t, s)
		})
	}
}

func (w *world) abortAll(t testing.TB, key string) {
	for id, k := range w.uploads(t) {
		if k != key {
			continue
		}
		if _, err := w.AbortMultipartUpload(context.Background(), &awss3.AbortMultipartUploadInput{Bucket: &w.bucket, Key: &key, UploadId: &id}); err != nil {
			t.Fatal(err)
		}
	}
}

func (w *world) deleteAll(t testing.TB, key string) {
	for _, version := range w.versionsOf(t, key) {
		if _, err := w.DeleteObject(context.Background(), &awss3.DeleteObjectInput{Bucket: &w.bucket, Key: &key, VersionId: version}); err != nil {
			t.Fatal(err)
		}
	}
}
