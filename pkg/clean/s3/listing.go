package s3

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"
)

// sheet is one page of a listing of objects.
type sheet struct {
	objects []object
	unclear int    // entries without a time
	key, id string // the markers of the next page
	more    bool
	answer  middleware.Metadata
}

// listObjects gives each, with the store's clock against ours, every version
// that begins with the target's key. Its answer no makes that page the last
// one. A store that knows no versions is asked for objects.
func (c *cleaner) listObjects(ctx context.Context, at target, each func(object, time.Duration) bool) error {
	list := c.versions
	var p pages
	for p.more(ctx) {
		s, err := list(ctx, at, p)
		if unimplemented(err) && !p.begun {
			list = c.plain
			s, err = list(ctx, at, p)
		}
		if p.encode(err) {
			continue
		}
		if err != nil {
			if c.exact && is(err, "NoSuchBucket") {
				return nil
			}
			return c.failed(ctx, err, "list the objects of", at.ref(at.key))
		}
		p.unclear += s.unclear
		again := true
		for _, o := range s.objects { // all of the page: markers stand behind versions, not by key
			again = each(o, skew(s.answer)) && again
		}
		if !again {
			return nil
		}
		p.next(s.key, s.id, s.more)
	}
	return p.err("list the objects of", at.ref(at.key))
}

// versions asks for a page of versions and delete markers.
func (c *cleaner) versions(ctx context.Context, at target, p pages) (sheet, error) {
	out, err := c.client.ListObjectVersions(ctx, &s3.ListObjectVersionsInput{
		Bucket: &at.bucket, Prefix: &at.key, KeyMarker: text(p.key), VersionIdMarker: text(p.id), EncodingType: p.encoding(),
	})
	if err != nil {
		return sheet{}, err
	}
	s := sheet{key: decode(out.NextKeyMarker, out.EncodingType), id: deref(out.NextVersionIdMarker), more: truncated(out.IsTruncated), answer: out.ResultMetadata}
	for _, v := range out.Versions {
		s.add(v.LastModified, object{key: decode(v.Key, out.EncodingType), version: deref(v.VersionId), etag: deref(v.ETag)})
	}
	for _, m := range out.DeleteMarkers {
		s.add(m.LastModified, object{key: decode(m.Key, out.EncodingType), version: deref(m.VersionId), marker: true})
	}
	return s, nil
}

// plain asks for a page of objects.
func (c *cleaner) plain(ctx context.Context, at target, p pages) (sheet, error) {
	out, err := c.client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{
		Bucket: &at.bucket, Prefix: &at.key, ContinuationToken: text(p.key), EncodingType: p.encoding(),
	})
	if err != nil {
		return sheet{}, err
	}
	s := sheet{key: deref(out.NextContinuationToken), more: truncated(out.IsTruncated), answer: out.ResultMetadata}
	for _, o := range out.Contents {
		s.add(o.LastModified, object{key: decode(o.Key, out.EncodingType), etag: deref(o.ETag)})
	}
	return s, nil
}

func (s *sheet) add(modified *time.Time, o object) {
	if modified == nil {
		s.unclear++
		return
	}
	o.modified = *modified
	s.objects = append(s.objects, o)
}
