package s3_test

import (
	"testing"
	"time"

	"job-cleanup/pkg/clean/cleantest"
	"job-cleanup/pkg/clean/s3"
	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
)

func TestOneConnection(t *testing.T) {
	cleantest.Connection(t, func(address string) residue.Cleaner {
		spec := residue.Spec{Selector: "DeleteObjects", Value: "s3://bucket/jobs/1/", Options: map[string][]string{
			"Endpoint": {address}, "PathStyle": {"yes"}, "AccessKeyID": {"key"}, "SecretAccessKey": {"file:/secret"},
		}}
		deps := residue.Deps{
			Job:    residue.Job{Start: time.Now()},
			Secret: func(string) (secret.Text, error) { return secret.New("secret"), nil },
		}
		c, err := s3.Kind.Open(spec, deps)
		if err != nil {
			t.Fatal(err)
		}
		return c
	})
}
