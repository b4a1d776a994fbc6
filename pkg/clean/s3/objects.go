package s3

import (
	"context"
	"time"

	"job-cleanup/pkg/residue"
)

// object is one version of an object, or a delete marker.
type object struct {
	key      string
	version  string // "" where the store knows no versions
	etag     string
	modified time.Time
	marker   bool
}

// proof identifies the version. Only a version with an id never changes, so
// what it held and when it was written count too.
func (o object) proof() map[string]string {
	p := map[string]string{"modified": stamp(o.modified)}
	if o.version != "" {
		p[versionID] = o.version
	}
	if o.etag != "" {
		p["etag"] = o.etag
	}
	if o.marker {
		p["marker"] = "yes"
	}
	return p
}

// findObjects lists the versions that were written within the job. One that
// was tracked by its id is taken whatever its time.
func (c *cleaner) findObjects(ctx context.Context) ([]residue.Residue, error) {
	named := c.exact && c.spec.Tracked.Proof[versionID] != ""
	if err := c.dated(); err != nil && !named {
		return nil, err
	}
	var found []residue.Residue
	err := c.listObjects(ctx, c.target, func(o object, skew time.Duration) bool {
		switch {
		case !c.selects(o.key):
			return c.before(o.key)
		case named && o.version == c.spec.Tracked.Proof[versionID]:
			found = append(found, *c.spec.Tracked)
		case !named && c.window(skew).holds(o.modified):
			found = append(found, c.object(o))
		}
		return true
	})
	return found, err
}

// before reports whether the target may still come in a listing that came to
// key. Keys are listed in order; only one that is asked for can be passed.
func (c *cleaner) before(key string) bool { return !c.exact || key <= c.target.key }

// object is the residue of a listed version.
func (c *cleaner) object(o object) residue.Residue {
	r := residue.Residue{Type: "object", Ref: c.target.ref(o.key), Proof: o.proof()}
	r.Identify()
	return r
}

// same reports whether a version is the one that was recorded. A record of
// nothing but an id, as track makes it, is enough of one.
func (o object) same(proof map[string]string) bool {
	now := o.proof()
	for _, key := range []string{"etag", "modified", "marker"} {
		if proof[key] != "" && proof[key] != now[key] {
			return false
		}
	}
	return true
}
