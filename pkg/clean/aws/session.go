package aws

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// session is what a copy tells of a session; the secrets are not kept.
type session struct {
	id      string    // access key id
	ends    time.Time // zero for a key that is no session's
	bounded bool      // ends is not told, but the latest there can be
}

// longest is the longest time that a session can be issued for.
const longest = 36 * time.Hour

// ofProfile reads the keys of a profile that was last written at the given time.
func ofProfile(keys map[string]string, written time.Time) session {
	s := session{id: keys["aws_access_key_id"]}
	for _, key := range []string{"aws_session_expiration", "x_security_token_expires", "aws_credential_expiration", "aws_expiration", "expiration"} {
		if s.ends = instant(keys[key]); !s.ends.IsZero() {
			return s
		}
	}
	if keys["aws_session_token"] != "" || keys["aws_security_token"] != "" {
		s.ends, s.bounded = written.Add(longest), true
	}
	return s
}

// ofCache reads a cache file that was last written at the given time: the
// answer of STS, or what a credential process prints. One that is cut short
// may hold a session all the same; ok is false then.
func ofCache(text []byte, written time.Time) (s session, ok bool) {
	type keys struct {
		AccessKeyID  string `json:"AccessKeyId"`
		SessionToken string
		Expiration   string
	}
	var file struct {
		keys
		Credentials keys
	}
	s = session{ends: written.Add(longest), bounded: true}
	if json.Unmarshal(text, &file) != nil {
		return s, false
	}
	k := file.Credentials
	if k.AccessKeyID == "" {
		k = file.keys
	}
	s.id = k.AccessKeyID
	if ends := instant(k.Expiration); !ends.IsZero() {
		s.ends, s.bounded = ends, false
	} else if s.id != "" && k.SessionToken == "" {
		s.ends, s.bounded = time.Time{}, false
	}
	return s, s.id != ""
}

// instant reads a time in the forms that the tools write, zero when it is none.
func instant(text string) time.Time {
	text = strings.TrimSpace(text)
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05Z0700", "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05UTC", "2006-01-02 15:04:05"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC()
		}
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 1e9 {
		for n > 1e11 { // milliseconds or finer
			n /= 1000
		}
		return time.Unix(n, 0).UTC()
	}
	return time.Time{}
}
