package unit

import (
	"path"
	"regexp"
	"strings"
	"sync"
)

// wildcards are the parts of a pattern that are no plain text.
var wildcards = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\*|\?|\[[^\]]*\]?`) })

func isPattern(value string) bool { return strings.ContainsAny(value, "*?[") }

// matchable turns a pattern of unit names into one of path.Match: a backslash
// is part of names (a\x2db), and a class is negated with "!".
func matchable(pattern string) string {
	pattern = strings.ReplaceAll(pattern, `\`, `\\`)
	return strings.ReplaceAll(pattern, "[!", "[^")
}

// matches reports whether a name matches a pattern that was checked.
func matches(pattern, name string) bool {
	ok, err := path.Match(matchable(pattern), name)
	return ok && err == nil
}
