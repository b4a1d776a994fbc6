package redis

import (
	"context"
	"errors"
	"strings"

	"job-cleanup/pkg/residue"
)

// portion is how many keys the server looks at for one answer of SCAN, and
// about how many are deleted at once. Neither keeps it from others for long.
const portion = 1000

// keys are the keys below a prefix.
type keys struct{ prefix string }

// patternEscape puts a backslash before what means something in MATCH.
var patternEscape = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`)

// errEnough ends a scan early.
var errEnough = errors.New("seen enough")

// scan calls do with the keys below the prefix, until an error. Keys that are
// there all the time are seen at least once.
func (t keys) scan(ctx context.Context, s *session, do func([]string) error) error {
	for cursor, first := uint64(0), true; first || cursor != 0; first = false {
		names, next, err := s.Scan(ctx, cursor, patternEscape.Replace(t.prefix)+"*", portion).Result()
		if err != nil {
			return err
		}
		var ours []string
		for _, name := range names {
			if strings.HasPrefix(name, t.prefix) { // whatever the server makes of the pattern
				ours = append(ours, name)
			}
		}
		if len(ours) > 0 {
			if err := do(ours); err != nil {
				return err
			}
		}
		cursor = next
	}
	return nil
}

func (t keys) look(ctx context.Context, s *session) (bool, error) {
	err := t.scan(ctx, s, func([]string) error { return errEnough })
	if errors.Is(err, errEnough) {
		return true, nil
	}
	return false, err
}

func (t keys) remove(ctx context.Context, s *session) error {
	total := int64(0)
	err := t.scan(ctx, s, func(names []string) error {
		n, err := s.Unlink(ctx, names...).Result()
		total += n
		return err
	})
	if err == nil && total == 0 {
		err = residue.ErrGone
	}
	return err
}
