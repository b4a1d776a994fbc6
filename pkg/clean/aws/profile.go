package aws

import (
	"context"
	"time"

	"job-cleanup/pkg/residue"
)

// copies reads the copies that are there; the proof is what was recorded of
// one. The error is Gone when the file is not there.
func (c *cleaner) copies(ctx context.Context, proof map[string]string) ([]copied, error) {
	f, err := c.open(ctx, proof)
	if err != nil {
		return nil, err
	}
	defer f.close()
	if !c.profile() {
		return c.cached(f)
	}
	var all []copied
	for _, s := range sections(f.text, c.ref) {
		one := copied{session: ofProfile(s.keys, f.written()), mount: f.mount}
		if twin(all, one) { // written twice: one residue, all of it goes
			continue
		}
		all = append(all, one)
	}
	return all, nil
}

func twin(all []copied, one copied) bool {
	for _, a := range all {
		if a.id == one.id {
			return true
		}
	}
	return false
}

// cached reads a cache file.
func (c *cleaner) cached(f *file) ([]copied, error) {
	s, ok := ofCache(f.text, f.written())
	one := copied{session: s, mount: f.mount, born: f.born}
	if !ok && !c.own && !c.within(f.born) {
		return nil, residue.Errorf(residue.Retry, residue.Changed, "%q is not the JSON of a session", c.path)
	}
	return []copied{one}, nil
}

// maxRounds bounds how often a credentials file is read again because somebody
// wrote it meanwhile.
const maxRounds = 5

// removeProfile cuts our sections out of the credentials file. One of the same
// name with another key is somebody else's by now.
func (c *cleaner) removeProfile(ctx context.Context, proof map[string]string) error {
	for range maxRounds {
		done, err := c.cut(ctx, proof)
		if done || err != nil {
			return err
		}
	}
	return residue.Errorf(residue.Retry, residue.InUse, "%q was written every time it was to be replaced", c.path)
}

// cut tries once. It is not done when the file changed under it.
func (c *cleaner) cut(ctx context.Context, proof map[string]string) (done bool, err error) {
	f, err := c.open(ctx, proof)
	if err != nil {
		return false, err
	}
	defer f.close()
	unlock, err := f.lock(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	if err := f.reread(); err != nil { // one of us may have replaced it while we waited
		return false, c.failed(err, proof, "read")
	}
	text, others := f.text, 0
	for all := sections(text, c.ref); len(all) > others; all = sections(text, c.ref) {
		if s := all[others]; s.keys["aws_access_key_id"] == proof[keyID] {
			text = without(text, s)
		} else {
			others++
		}
	}
	switch {
	case len(text) == len(f.text) && others > 0:
		return false, residue.Errorf(residue.Lost, residue.Changed, "profile %q holds another session than was recorded", c.ref)
	case len(text) == len(f.text):
		return false, residue.ErrGone
	}
	done, err = f.replace(text)
	if err != nil {
		return false, c.failed(err, proof, "replace")
	}
	return done, nil
}

// removeCache unlinks a cache file that still holds what was recorded.
func (c *cleaner) removeCache(ctx context.Context, proof map[string]string) error {
	f, err := c.open(ctx, proof)
	if err != nil {
		return err
	}
	defer f.close()
	if s, _ := ofCache(f.text, time.Time{}); s.id != proof[keyID] {
		return residue.Errorf(residue.Lost, residue.Changed, "%q holds another session than was recorded", c.path)
	}
	if err := f.unlink(); err != nil {
		return c.failed(err, proof, "remove")
	}
	return nil
}
