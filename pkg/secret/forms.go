package secret

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strconv"
)

// forms are the ways a server or library may write a secret back to us.
func (t Text) forms() []string {
	if t.value == "" {
		return nil
	}
	all := []string{
		t.value,
		url.QueryEscape(t.value),
		url.PathEscape(t.value),
		base64.StdEncoding.EncodeToString([]byte(t.value)),
		base64.RawURLEncoding.EncodeToString([]byte(t.value)),
		unquoted(strconv.Quote(t.value)),
	}
	if text, err := json.Marshal(t.value); err == nil {
		all = append(all, unquoted(string(text)))
	}
	return all
}

func unquoted(s string) string { return s[1 : len(s)-1] }
