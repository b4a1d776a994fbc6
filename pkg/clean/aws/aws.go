// Package aws removes the local copies of AWS sessions that a job left: a
// profile in a shared credentials file, a cache file of the AWS tools.
//
// A session that was issued can't be revoked. Without its copies nobody on this
// machine can go on using it, and until it ends by itself that is all that can
// be done: the cleaner says so, with the time, instead of calling it removed.
// It talks to no server.
//
// A credentials file is shared by many jobs. Only our section is cut out of it;
// every other byte, mode and owner stay, and the file is replaced as a whole.
package aws

import "job-cleanup/pkg/residue"

// Kind cleans copies of AWS sessions. Its proof of a residue has the access
// key id, which is no secret (key-id), the file, the mount that it lies on, and
// expires=at-most where the time of its end is not told but bounded.
var Kind = &residue.Kind{
	Name:  "aws",
	Doc:   "Removes local copies of AWS sessions, which can't be revoked, and records when they end.",
	Local: true,
	Selectors: []residue.Selector{{
		Key: removeProfile, Type: "profile", Value: residue.String, Phase: residue.Credentials, Rank: 1,
		Doc: "A profile in the credentials file. Its name carries the job's identity, or `AccessKeyID=` names its key, " +
			"or the file is in a folder of the job's own.",
		Example: "batch-%i",
	}, {
		Key: removeCache, Type: "cache", Value: residue.Path, Phase: residue.Credentials, Rank: 1,
		Doc: "A file in which the AWS tools keep one session, as JSON. It was made within the job, or is proven as a profile is. " +
			"It must lie in `.aws/cli/cache`, below /run, /tmp, /var/tmp, a folder of the job's own or Within=.",
		Example: "${HOME}/.aws/cli/cache/0f1e2d3c.json",
	}},
	Options: []residue.Option{
		{Key: "File", Value: residue.Path, Env: "AWS_SHARED_CREDENTIALS_FILE",
			Doc:     "The credentials file; without it `.aws/credentials` in the home folder of the job's user.",
			Example: "/home/batch/.aws/credentials"},
		{Key: "AccessKeyID", Value: residue.String,
			Doc: "The access key of the session. With it, a copy of any other one stays.", Example: "ASIAIOSFODNN7EXAMPLE"},
		{Key: "Within", Value: residue.Path, Many: true,
			Doc: "A further folder that cache files may be removed below.", Example: "/srv/batch/cache"},
	},
	Open: open,
}

// The selectors.
const (
	removeProfile = "RemoveProfile"
	removeCache   = "RemoveCache"
)

// Keys of a proof.
const (
	keyID   = "key-id"
	inFile  = "file"
	onMount = "mount"
	expires = "expires"
)
