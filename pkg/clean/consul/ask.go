package consul

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/hashicorp/consul/api"

	"job-cleanup/pkg/residue"
)

// get reads a key; nil means that it is not there. Without the right to read it
// there is an error.
func (s *site) get(ctx context.Context, key string) (*api.KVPair, error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	pair, _, err := s.client.KV().Get(key, reading(ctx))
	if err != nil {
		return nil, s.failed(ctx, err)
	}
	return pair, nil
}

// list reads the keys that begin with a prefix. A key that may not be read is
// not in a list, so the right to read is asked for when it is empty.
func (s *site) list(ctx context.Context, prefix string) (api.KVPairs, error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	pairs, meta, err := s.client.KV().List(prefix, reading(ctx))
	if err != nil {
		return nil, s.failed(ctx, err)
	}
	if meta.ResultsFilteredByACLs {
		err = residue.Errorf(residue.Retry, residue.Permission, "there are keys below %q that the token may not read", prefix)
	}
	if len(pairs) == 0 && err == nil {
		_, err = s.get(ctx, prefix)
	}
	inside := pairs[:0]
	for _, pair := range pairs {
		if strings.HasPrefix(pair.Key, prefix) {
			inside = append(inside, pair)
		}
	}
	return inside, err
}

// session reads a session. The error is of class Gone when there is none: one
// that the token may not read looks the same at first, but can't be renewed.
func (s *site) session(ctx context.Context, id string) (*api.SessionEntry, error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	entry, _, err := s.client.Session().Info(id, reading(ctx))
	if err != nil {
		return nil, s.failed(ctx, err)
	}
	if entry != nil {
		return entry, nil
	}
	if _, err = s.client.Raw().Write("/v1/session/renew/"+id, nil, nil, writing(ctx)); err != nil {
		err = s.failed(ctx, err)
	} else {
		err = residue.Errorf(residue.Retry, residue.Permission, "session %q is there, but the token may not read it", id)
	}
	if hasStatus(err, http.StatusNotFound) {
		return nil, residue.ErrGone
	}
	return nil, err
}

// named lists the sessions of a name. None is an answer only with the right to
// read all.
func (s *site) named(ctx context.Context, name string) ([]*api.SessionEntry, error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	all, meta, err := s.client.Session().List(reading(ctx))
	if err != nil {
		return nil, s.failed(ctx, err)
	}
	var ours []*api.SessionEntry
	for _, entry := range all {
		if entry.Name == name && uuid.MatchString(entry.ID) {
			ours = append(ours, entry)
		}
	}
	if len(ours) > 0 {
		return ours, nil
	}
	if meta.ResultsFilteredByACLs {
		return nil, residue.Errorf(residue.Retry, residue.Permission, "the token may not read all sessions")
	}
	return nil, s.maySeeSessions(ctx)
}

// maySeeSessions asks whether the token may read every session. The library has
// no call for it.
func (s *site) maySeeSessions(ctx context.Context) error {
	u := url.URL{Scheme: "http", Host: "localhost", Path: "/v1/internal/acl/authorize"}
	if s.address.Scheme != "unix" {
		u.Scheme, u.Host, u.Path = s.address.Scheme, s.address.Host, strings.TrimSuffix(s.address.Path, "/")+u.Path
	}
	body := []byte(`[{"Resource":"session","Access":"read","Segment":""}]`)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return s.failed(ctx, err)
	}
	response, err := s.wire.RoundTrip(request)
	if err != nil {
		return s.failed(ctx, &url.Error{Op: "Post", URL: u.String(), Err: err})
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	if err != nil {
		return s.failed(ctx, err)
	}
	return s.readRight(response.StatusCode, text)
}

// readRight reads what an agent says of a right.
func (s *site) readRight(status int, text []byte) error {
	var rights []struct{ Allow bool }
	switch {
	case status == http.StatusUnauthorized && strings.Contains(string(text), "ACL support disabled"):
		return nil // then everybody may
	case status != http.StatusOK:
		return s.refused(status, string(text))
	case json.Unmarshal(text, &rights) != nil || len(rights) != 1:
		return residue.Errorf(residue.Retry, residue.Other, "the agent does not say whether the token may read sessions")
	case !rights[0].Allow:
		return residue.Errorf(residue.Retry, residue.Permission, `the token may not read all sessions (session_prefix "")`)
	}
	return nil
}

// change makes several changes of keys, or none of them. False means that a key
// is not as it was read.
func (s *site) change(ctx context.Context, ops ...*api.KVTxnOp) (bool, error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	var all api.TxnOps
	for _, op := range ops {
		all = append(all, &api.TxnOp{KV: op})
	}
	done, answer, _, err := s.client.Txn().Txn(all, (&api.QueryOptions{}).WithContext(ctx))
	if err != nil {
		return false, s.failed(ctx, err)
	}
	if done {
		return true, nil
	}
	for _, e := range answer.Errors {
		if denied(e.What) {
			return false, residue.Errorf(residue.Retry, residue.Permission, "%s", s.clean(e.What))
		}
	}
	return false, nil
}
