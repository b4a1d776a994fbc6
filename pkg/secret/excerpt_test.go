package secret

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestExcerpt(t *testing.T) {
	token := New("s.hunter2")
	for text, want := range map[string]string{
		"denied":                          "denied",
		"two\n\tlines ":                   "two lines",
		"token s.hunter2 is bad":          "token " + Redacted + " is bad",
		strings.Repeat("x", maxExcerpt):   strings.Repeat("x", maxExcerpt),
		strings.Repeat("x", maxExcerpt+1): strings.Repeat("x", maxExcerpt-3) + "…",
	} {
		if got := Excerpt(text, token); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got := Excerpt("a" + strings.Repeat("ü", maxExcerpt)); len(got) > maxExcerpt || !utf8.ValidString(got) {
		t.Errorf("cut inside of a letter: %q", got)
	}
}
