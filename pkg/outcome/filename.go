package outcome

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// maxFileName is the longest name that FileName returns, in bytes: a file
// system takes 255, and something is put behind it.
const maxFileName = 200

// FileName turns any text into the name of a file, different for different
// texts. Letters, digits and "_-:." stand for themselves, anything else and a
// leading dot become \xNN. What would be too long becomes "~" and its SHA-256,
// which no escaped text begins with. Empty text has no name: "".
func FileName(text string) string { return bounded(escapeBytes(text, "_-:."), text) }

// joinParts makes one file name of several texts, different for different
// lists of them.
func joinParts(parts ...string) string {
	escaped := make([]string, len(parts))
	for i, p := range parts {
		escaped[i] = escapeBytes(p, "_-.") // a colon in a part is no separator
	}
	name := strings.Join(escaped, ":")
	return bounded(name, name)
}

// bounded returns the name, or a digest of the text where that is too long.
func bounded(name, text string) string {
	if len(name) <= maxFileName {
		return name
	}
	sum := sha256.Sum256([]byte(text))
	return "~" + hex.EncodeToString(sum[:])
}

// escapeBytes keeps letters, digits and what stands in also.
func escapeBytes(text, also string) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if (letter || strings.IndexByte(also, c) >= 0) && !(i == 0 && c == '.') {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String()
}
