package s3

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"job-cleanup/pkg/residue"
)

const (
	maxRounds  = 5                     // aborts of one upload in one removal
	firstPause = 50 * time.Millisecond // after the first of them; each next one is twice as long
)

// abort aborts an upload until the store does not know it any more. A part
// under way when it is aborted may still be stored, and has to be aborted too.
func (c *cleaner) abort(ctx context.Context, at target, id string) error {
	if id == "" {
		return residue.Errorf(residue.Retry, residue.Unset, "the id of upload %q is not known", at.ref(at.key))
	}
	for round := 1; round <= maxRounds; round++ {
		if round > 1 {
			if err := wait(ctx, firstPause<<(round-2)); err != nil {
				return c.failed(ctx, err, "abort upload", at.ref(at.key))
			}
		}
		done, err := c.abortOnce(ctx, at, id, round)
		if done || err != nil {
			return err
		}
	}
	return residue.Errorf(residue.Retry, residue.StillWritten, "upload %q still has parts after %d aborts", at.ref(at.key), maxRounds)
}

// abortOnce aborts and looks whether that was true.
func (c *cleaner) abortOnce(ctx context.Context, at target, id string, round int) (done bool, err error) {
	_, err = c.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &at.bucket, Key: &at.key, UploadId: &id})
	switch {
	case unknown(err) && round == 1:
		return true, residue.ErrGone
	case unknown(err):
		return true, nil
	case err != nil:
		return false, c.failed(ctx, err, "abort upload", at.ref(at.key))
	}
	left, err := c.parts(ctx, at, id)
	switch {
	case unknown(err):
		return true, nil
	case err != nil:
		return false, c.failed(ctx, err, "look whether it was done: abort upload", at.ref(at.key))
	}
	return left == 0 && round > 1, nil // twice aborted and empty: nothing is kept, whatever the store calls it
}

// unknown reports whether the store does not know the upload, which is only
// believed in its own word for it.
func unknown(err error) bool { return is(err, "NoSuchUpload", "NoSuchBucket") }

// parts counts the parts of an upload on its first page.
func (c *cleaner) parts(ctx context.Context, at target, id string) (int, error) {
	out, err := c.client.ListParts(ctx, &s3.ListPartsInput{Bucket: &at.bucket, Key: &at.key, UploadId: &id})
	if err != nil {
		return 0, err
	}
	return len(out.Parts), nil
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
