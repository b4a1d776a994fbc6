package s3

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"job-cleanup/pkg/residue"
)

// delete deletes one version of an object, if it is still the recorded one,
// and looks whether it is gone. A store answers a deletion of what is not there
// like any other, so the look before it tells the two apart.
func (c *cleaner) delete(ctx context.Context, at target, proof map[string]string) error {
	now, err := c.look(ctx, at, proof[versionID])
	switch {
	case err != nil:
		return err
	case now == nil:
		return residue.ErrGone
	case !now.same(proof):
		return residue.Errorf(residue.Lost, residue.Changed, "object %q was written again since it was recorded", at.ref(at.key))
	}
	_, err = c.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &at.bucket, Key: &at.key, VersionId: text(proof[versionID])})
	if err != nil && !is(err, "NoSuchKey", "NoSuchVersion", "NoSuchBucket") {
		return c.failed(ctx, err, "delete object", at.ref(at.key))
	}
	left, err := c.look(ctx, at, proof[versionID])
	if err == nil && left != nil && left.same(proof) {
		err = residue.Errorf(residue.Retry, residue.Other, "object %q is still there although the store said it was deleted", at.ref(at.key))
	}
	return err
}

// look finds one version of an object, or the object itself where the store
// knows no versions. Nil means that it is not there.
func (c *cleaner) look(ctx context.Context, at target, version string) (*object, error) {
	one := *c
	one.target, one.exact = at, true
	var found *object
	err := one.listObjects(ctx, at, func(o object, _ time.Duration) bool {
		if o.key == at.key && (o.version == version || version == "" && o.version == "null") {
			found = &o
		}
		return found == nil && one.before(o.key)
	})
	return found, err
}
