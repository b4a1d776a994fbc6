package s3

import (
	"regexp"
	"strings"
	"sync"

	"job-cleanup/pkg/residue"
)

// target is what a reference names: a key of a bucket, or the front of some.
type target struct{ bucket, key string }

// bucketName is wide enough for old buckets and other stores, and keeps out
// what would name something else in a URL or to the client library.
var bucketName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$`) })

// maxKey is the service's limit for a key, in bytes.
const maxKey = 1024

// delimiters are what a prefix may end in; see the plan's prefixes.
const delimiters = "/-_.:"

// parse reads s3://BUCKET/KEY.
func parse(ref string) (target, error) {
	rest, ok := strings.CutPrefix(ref, "s3://")
	bucket, key, slash := strings.Cut(rest, "/")
	switch {
	case !ok || !slash:
		return target{}, residue.Errorf(residue.Refused, residue.Other, "%q is not s3://BUCKET/KEY", ref)
	case !bucketName().MatchString(bucket):
		return target{}, residue.Errorf(residue.Refused, residue.Other, "%q is no bucket's name", bucket)
	case key == "":
		return target{}, residue.Errorf(residue.Refused, residue.Protected, "%q is a whole bucket", ref)
	case len(key) > maxKey:
		return target{}, residue.Errorf(residue.Refused, residue.Other, "the key of %q is longer than %d bytes", ref, maxKey)
	}
	return target{bucket, key}, nil
}

// prefix reads s3://BUCKET/PREFIX. Without a delimiter at its end jobs/1 would
// select jobs/10 too.
func prefix(ref string) (target, error) {
	t, err := parse(ref)
	if err == nil && !strings.ContainsRune(delimiters, rune(t.key[len(t.key)-1])) {
		err = residue.Errorf(residue.Refused, residue.Protected, "prefix %q has no delimiter at its end", ref)
	}
	return t, err
}

// ref is the reference of a key in the bucket.
func (t target) ref(key string) string { return "s3://" + t.bucket + "/" + key }
