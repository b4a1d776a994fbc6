// Package s3 aborts the multipart uploads and deletes the partial objects that
// a job left in an S3 bucket.
//
// An upload that a job tracked is aborted by its id, whatever a listing says:
// some stores take a listing's prefix for an exact key and answer with nothing.
// Of a listing only what began within the job counts. What a store calls done
// is looked up again, since some say so and do nothing.
//
// Nothing but the plan says where to go and who to be: no environment, no
// shared configuration, no metadata service, no proxy.
package s3

import "job-cleanup/pkg/residue"

// Kind cleans S3 buckets. The proof of an upload is its upload-id and the time
// it was initiated; that of an object its version-id ("null" for a version
// without one, none where the store knows no versions), etag and time of last
// modification, and marker=yes for a delete marker. Times are RFC 3339, UTC,
// whole seconds.
var Kind = &residue.Kind{
	Name: "s3",
	Doc:  "Aborts multipart uploads and deletes partial objects that the job left in an S3 bucket.",
	Selectors: []residue.Selector{{
		Key: abortUploads, Type: "upload", Value: residue.Prefix, Phase: residue.Data,
		Doc: "Unfinished uploads below `s3://BUCKET/PREFIX` that were initiated within the job. " +
			"The prefix ends in a delimiter and carries the job's identity; a whole bucket is refused.",
		Example: "s3://artifacts/jobs/%i/",
		Marks:   []residue.Mark{{Key: uploadID, Doc: "The id of the upload, as CreateMultipartUpload returned it."}},
	}, {
		Key: deleteObjects, Type: "object", Value: residue.Prefix, Phase: residue.Data,
		Doc: "Objects below `s3://BUCKET/PREFIX` that were written within the job, with all their versions and " +
			"delete markers of that time where the bucket is versioned.",
		Example: "s3://artifacts/partial/%i/",
		Marks:   []residue.Mark{{Key: versionID, Doc: "The version of the object; without it all that were written within the job."}},
	}},
	Options: []residue.Option{
		{Key: "Endpoint", Value: residue.String, Env: "AWS_ENDPOINT_URL_S3",
			Doc: "URL of the store; without it Amazon's for the region.", Example: "https://s3.example.net"},
		{Key: "Region", Value: residue.String, Env: "AWS_REGION",
			Doc: "Region to sign for. With an endpoint `us-east-1` is taken if there is none.", Example: "eu-central-1"},
		{Key: "PathStyle", Value: residue.Bool, Default: "no",
			Doc: "Name the bucket in the path, not in the host's name.", Example: "yes"},
		{Key: "CACert", Value: residue.Path,
			Doc: "PEM file of the authorities that vouch for the store, instead of the system's.", Example: "/etc/ssl/s3-ca.pem"},
		{Key: "AccessKeyID", Value: residue.String, Env: "AWS_ACCESS_KEY_ID",
			Doc: "Access key, with `SecretAccessKey=`.", Example: "AKIAIOSFODNN7EXAMPLE"},
		{Key: "SecretAccessKey", Value: residue.SecretRef, Env: "AWS_SECRET_ACCESS_KEY",
			Doc: "The key's secret.", Example: "file:%t/batch/s3-secret"},
		{Key: "SessionToken", Value: residue.SecretRef, Env: "AWS_SESSION_TOKEN",
			Doc: "Token of a temporary key.", Example: "file:%t/batch/s3-token"},
		{Key: "Credentials", Value: residue.SecretRef,
			Doc: "A shared credentials file of the AWS tools, instead of the three above.", Example: "file:%h/.aws/credentials"},
		{Key: "Profile", Value: residue.String, Default: "default",
			Doc: "The profile in `Credentials=`.", Example: "batch"},
	},
	Open: open,
}

// The selectors, and what track may be told.
const (
	abortUploads  = "AbortUploads"
	deleteObjects = "DeleteObjects"
	uploadID      = "upload-id"
	versionID     = "version-id"
)
