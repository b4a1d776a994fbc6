package main

import (
	"os"
	"path/filepath"
	"testing"

	"job-cleanup/pkg/residue"
)

// TestCredentialsOfTheUnitOnly: the folder of credentials that a job's
// environment names may be another unit's, which the job can't read itself.
func TestCredentialsOfTheUnitOnly(t *testing.T) {
	theirs := t.TempDir()
	if err := os.WriteFile(filepath.Join(theirs, "token"), []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	user, root := &residue.Identity{UID: nobody, GID: nobody}, &residue.Identity{}
	for _, c := range []struct {
		what  string
		uid   int
		user  *residue.Identity
		given bool
	}{
		{"root for a user's job", 0, user, false},
		{"root for nobody knows whom", 0, nil, false},
		{"root for a job of its own", 0, root, true},
		{"the job itself", nobody, user, true},
	} {
		p := &program{uid: c.uid, env: environment{"CREDENTIALS_DIRECTORY": theirs}}
		s := &site{program: p, opts: &options{}}
		sub := &subject{}
		sub.job.Unit, sub.job.Invocation, sub.job.User = "no-such.service", "one", c.user
		text, err := s.deps(sub.job.Job, residue.Spec{}, nil).Secret("credential:token")
		if given := err == nil && text.Reveal() == "theirs"; given != c.given {
			t.Errorf("%s gets it: %v (%v)", c.what, given, err)
		}
	}
}
