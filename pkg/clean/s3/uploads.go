package s3

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"job-cleanup/pkg/residue"
)

// findUploads returns the tracked upload, or lists.
func (c *cleaner) findUploads(ctx context.Context) ([]residue.Residue, error) {
	if t := c.spec.Tracked; t != nil && t.Proof[uploadID] != "" {
		return c.trackedUpload(ctx, *t)
	}
	found, begun, err := c.listUploads(ctx, c.target.key)
	if err == nil && begun == 0 && !c.exact && !c.amazon {
		// Nothing with this prefix, or a store that takes it for an exact key.
		found, _, err = c.listUploads(ctx, "")
		if classed := residue.AsError(err); classed != nil && classed.Reason == residue.Permission {
			err = nil // a right that ends at a prefix is given by a store that knows prefixes
		}
	}
	return found, err
}

// trackedUpload resolves an upload by its id. Who may abort may not always
// look: then the abort has to tell.
func (c *cleaner) trackedUpload(ctx context.Context, t residue.Residue) ([]residue.Residue, error) {
	_, err := c.parts(ctx, c.target, t.Proof[uploadID])
	switch {
	case unknown(err):
		return nil, nil
	case err == nil, is(err, "AccessDenied"), unimplemented(err):
		return []residue.Residue{t}, nil
	}
	return nil, c.failed(ctx, err, "look at upload", t.Ref)
}

// listUploads pages through the unfinished uploads of the bucket and returns
// those that are ours, and how many there are in all of what the step selects.
func (c *cleaner) listUploads(ctx context.Context, front string) (found []residue.Residue, begun int, err error) {
	var p pages
	for p.more(ctx) {
		out, err := c.client.ListMultipartUploads(ctx, &s3.ListMultipartUploadsInput{
			Bucket: &c.target.bucket, Prefix: text(front), KeyMarker: text(p.key), UploadIdMarker: text(p.id), EncodingType: p.encoding(),
		})
		if p.encode(err) {
			continue
		}
		if err != nil {
			return found, begun, c.failed(ctx, err, "list the uploads of", c.target.ref(front))
		}
		for _, u := range out.Uploads {
			key := decode(u.Key, out.EncodingType)
			if !c.selects(key) {
				continue
			}
			begun++
			if u.Initiated == nil || deref(u.UploadId) == "" {
				p.unclear++
			} else if c.window(skew(out.ResultMetadata)).holds(*u.Initiated) {
				found = append(found, c.upload(key, u))
			}
		}
		p.next(decode(out.NextKeyMarker, out.EncodingType), deref(out.NextUploadIdMarker), truncated(out.IsTruncated))
	}
	return found, begun, p.err("list the uploads of", c.target.ref(front))
}

// upload is the residue of a listed upload.
func (c *cleaner) upload(key string, u types.MultipartUpload) residue.Residue {
	r := residue.Residue{Type: "upload", Ref: c.target.ref(key), Proof: map[string]string{
		uploadID: *u.UploadId, "initiated": stamp(*u.Initiated),
	}}
	r.Identify()
	return r
}

// selects reports whether a key is what the spec names. A store's answer is
// not believed in this.
func (c *cleaner) selects(key string) bool {
	if c.exact {
		return key == c.target.key
	}
	return strings.HasPrefix(key, c.target.key)
}
