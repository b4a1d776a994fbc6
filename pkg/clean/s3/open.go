package s3

import (
	"context"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
)

// cleaner cleans what one spec selects.
type cleaner struct {
	spec     residue.Spec
	job      residue.Job
	target   target
	exact    bool // target is one key, not the front of some
	endpoint string
	amazon   bool // the endpoint is Amazon's own
	client   *s3.Client
	web      *http.Client  // beneath the client
	secrets  []secret.Text // never to be shown, whoever writes them back
	lacking  error         // why there is nothing to prove ourselves with
}

var (
	_ residue.Endpointer = (*cleaner)(nil)
	_ io.Closer          = (*cleaner)(nil)
)

// Endpoint is the store's URL.
func (c *cleaner) Endpoint() string { return c.endpoint }

// Close ends the connections that are kept between calls.
func (c *cleaner) Close() error {
	c.web.CloseIdleConnections()
	return nil
}

func open(spec residue.Spec, deps residue.Deps) (residue.Cleaner, error) {
	c := &cleaner{spec: spec, job: deps.Job}
	if spec.Selector != abortUploads && spec.Selector != deleteObjects {
		return nil, residue.Errorf(residue.Refused, residue.Other, "no selector %q", spec.Selector)
	}
	var err error
	if c.exact = spec.Tracked != nil; c.exact {
		c.target, err = parse(spec.Tracked.Ref)
	} else {
		c.target, err = prefix(spec.Value)
	}
	if err != nil {
		return nil, err
	}
	return c, c.connect(deps)
}

// Find lists what the spec selects, or resolves what was tracked.
func (c *cleaner) Find(ctx context.Context) ([]residue.Residue, error) {
	if c.lacking != nil {
		return nil, c.lacking
	}
	if c.spec.Selector == abortUploads {
		return c.findUploads(ctx)
	}
	return c.findObjects(ctx)
}

// Remove aborts an upload or deletes one version of an object.
func (c *cleaner) Remove(ctx context.Context, r residue.Residue) error {
	if c.lacking != nil {
		return c.lacking
	}
	at, err := parse(r.Ref)
	if err != nil {
		return err
	}
	if at.bucket != c.target.bucket || !c.selects(at.key) {
		return residue.Errorf(residue.Refused, residue.OutsideBase, "%q is not what the step selects", r.Ref)
	}
	if c.spec.Selector == abortUploads {
		return c.abort(ctx, at, r.Proof[uploadID])
	}
	return c.delete(ctx, at, r.Proof)
}
