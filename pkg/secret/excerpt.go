package secret

import "strings"

// maxExcerpt bounds what is repeated of a server's words, in bytes.
const maxExcerpt = 300

// Excerpt makes a server's words fit for a record: without the secrets, on one
// line, and at most 300 bytes long.
func Excerpt(text string, secrets ...Text) string {
	text = strings.Join(strings.Fields(Scrub(text, secrets...)), " ")
	if len(text) > maxExcerpt {
		text = strings.ToValidUTF8(text[:maxExcerpt-len("…")], "") + "…"
	}
	return text
}
