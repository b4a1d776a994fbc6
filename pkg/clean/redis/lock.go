package redis

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
)

// lock is a key that is ours as long as its value is.
type lock struct {
	key   string
	value secret.Text
}

func newLock(spec residue.Spec, deps residue.Deps) (target, error) {
	plain, ref := spec.Option("Value"), spec.Option("Token")
	switch {
	case spec.Value == "":
		return nil, refused("ReleaseLock= names no key")
	case plain == "" && ref == "":
		return nil, refused("ReleaseLock=%q needs Value= or Token=, which tell whose the lock is", spec.Value)
	case plain != "" && ref != "":
		return nil, refused("ReleaseLock=%q has both Value= and Token=", spec.Value)
	case plain != "":
		return lock{spec.Value, secret.New(plain)}, nil
	}
	value, err := deps.Secret(ref)
	return lock{spec.Value, value}, err
}

// look answers no for a lock that somebody else holds by now: ours is gone.
func (t lock) look(ctx context.Context, s *session) (bool, error) {
	value, err := s.Get(ctx, t.key).Result()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return err == nil && t.value.Equal(secret.New(value)), err
}

// release compares and deletes in one step: nobody can take the lock between.
// It answers 1 for deleted, 0 for not there, -1 for somebody else's.
const release = `
local value = redis.call('GET', KEYS[1])
if not value then return 0 end
if value ~= ARGV[1] then return -1 end
return redis.call('DEL', KEYS[1])`

func (t lock) remove(ctx context.Context, s *session) error {
	answer, err := s.Eval(ctx, release, []string{t.key}, t.value.Reveal()).Int()
	switch {
	case err != nil:
		return err
	case answer == 0:
		return residue.ErrGone
	case answer < 0:
		return residue.Errorf(residue.Lost, residue.Changed, "lock %q is somebody else's by now", t.key)
	}
	return nil
}
