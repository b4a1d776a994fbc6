package s3

import (
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	smithy "github.com/aws/smithy-go/middleware"

	"job-cleanup/pkg/residue"
)

// window is the time within which something of the job's began, by the store's
// clock. A zero end is open.
type window struct{ from, to time.Time }

// minSkew is the difference of two clocks that can be told from the whole
// seconds of an answer's date and the time the answer took.
const minSkew = 3 * time.Second

// window is the job's own time. Stores tell whole seconds, so it begins with
// the second in which the job did.
func (c *cleaner) window(skew time.Duration) window {
	slack := time.Duration(0)
	if skew.Abs() < minSkew {
		skew = 0
	} else {
		slack = time.Second
	}
	var w window
	if !c.job.Start.IsZero() {
		w.from = c.job.Start.Add(skew - slack).Truncate(time.Second)
	}
	if !c.job.End.IsZero() {
		w.to = c.job.End.Add(skew + slack)
	}
	return w
}

// holds reports whether t lies in the window.
func (w window) holds(t time.Time) bool {
	return !t.Before(w.from) && (w.to.IsZero() || !t.After(w.to))
}

// skew is how far the store's clock was ahead of ours when it answered.
func skew(answer smithy.Metadata) time.Duration {
	d, _ := middleware.GetAttemptSkew(answer)
	return d
}

// dated checks that there is a time to judge objects by. Without one, those of
// an earlier run of the unit look like ours: they are finished work, not an
// upload that nobody will finish. A name that only this invocation has will do.
func (c *cleaner) dated() error {
	if !c.job.Start.IsZero() || len(c.job.Invocation) >= 16 && strings.Contains(c.target.key, c.job.Invocation) {
		return nil
	}
	return residue.Errorf(residue.Retry, residue.Unset,
		"when the job began is not known, so nothing tells its objects below %q from an earlier job's", c.target.ref(c.target.key))
}

// stamp writes a time into a proof. Stores tell the same time with and
// without a fraction.
func stamp(t time.Time) string { return t.UTC().Truncate(time.Second).Format(time.RFC3339) }
