package postgres

import (
	"context"
	"strconv"
	"time"

	"job-cleanup/pkg/residue"
)

// slack is how far the job's start and end may lie from what the server's
// clock says, beside a constant difference, which does not count.
const slack = 2 * time.Second

// patience is how long a backend that was told to end may take.
const patience = 3 * time.Second

// backends are the connections with an application_name.
type backends struct {
	name string
	job  residue.Job
	now  func() time.Time
}

// look finds those that began with the job. One that is older carries the name
// because a pool lent it out: it is not ours to end, and what it still holds,
// an advisory lock, is owed. One that is newer than the job is the next one's.
func (t backends) look(ctx context.Context, s *session) (proofs []map[string]string, err error) {
	found, err := t.list(ctx, s)
	for _, row := range found {
		pid, start, age := row[0], row[1], row[2]
		if start == "" {
			err = residue.Errorf(residue.Retry, residue.Permission, "backend %s has the name %q but is another role's", pid, t.name)
			continue
		}
		switch t.when(age) {
		case before:
			err = residue.Errorf(residue.Retry, residue.InUse, "backend %s has the name %q but is older than the job: a pool's", pid, t.name)
		case within:
			proofs = append(proofs, map[string]string{"pid": pid, "start": start})
		}
	}
	return proofs, err
}

// list returns pid, start and age of the backends, times in microseconds. They
// are empty for those of roles that ours may not look at.
func (t backends) list(ctx context.Context, s *session) (found [][]string, err error) {
	err = s.read(ctx, func() error {
		found, err = s.rows(ctx, `
			SELECT pid, (extract(epoch FROM backend_start) * 1000000)::bigint, (extract(epoch FROM clock_timestamp() - backend_start) * 1000000)::bigint
			FROM pg_stat_activity
			WHERE application_name = $1 AND pid <> pg_backend_pid() AND COALESCE(backend_type, '') <> 'parallel worker'
			ORDER BY backend_start, pid`, t.name)
		return err
	})
	return found, err
}

// era is when something began.
type era int

const (
	within era = iota
	before
	after
)

// when compares the age of a backend with the job. Both clocks only tell how
// long ago something was.
func (t backends) when(age string) era {
	microseconds, err := strconv.ParseInt(age, 10, 64)
	if err != nil {
		return before
	}
	began := t.now().Add(-time.Duration(microseconds) * time.Microsecond)
	switch {
	case !t.job.Start.IsZero() && began.Before(t.job.Start.Add(-slack)):
		return before
	case !t.job.End.IsZero() && began.After(t.job.End.Add(slack)):
		return after
	}
	return within
}

// remove ends one backend and waits until it is gone.
func (t backends) remove(ctx context.Context, s *session, proof map[string]string) error {
	there, err := t.signal(ctx, s, "pg_terminate_backend(pid)", proof)
	if err == nil && !there {
		return residue.ErrGone
	}
	for end := time.Now().Add(patience); err == nil && there && time.Now().Before(end); {
		if _, err = s.exec(ctx, "SELECT pg_sleep(0.02)"); err == nil {
			there, err = t.signal(ctx, s, "pid", proof)
		}
	}
	if err == nil && there {
		err = residue.Errorf(residue.Retry, residue.InUse, "backend %s was told to end and has not yet", proof["pid"])
	}
	return err
}

// signal does something with the very backend of the proof, if it is there.
func (t backends) signal(ctx context.Context, s *session, do string, proof map[string]string) (there bool, err error) {
	err = s.write(ctx, func() error {
		found, err := s.rows(ctx, "SELECT "+do+` FROM pg_stat_activity
			WHERE pid = $1::int AND (extract(epoch FROM backend_start) * 1000000)::bigint = $2::bigint AND application_name = $3`,
			proof["pid"], proof["start"], t.name)
		there = len(found) > 0
		return err
	})
	return there, err
}
