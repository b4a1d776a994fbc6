package path

import (
	"path/filepath"
	"strings"
	"testing"

	"job-cleanup/pkg/residue"
)

func TestPartMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"*", "a", true}, {"*", ".a", false}, {"?a", ".a", false}, {"[.]a", ".a", false}, {".*", ".a", true},
		{".*", ".", false}, {".*", "..", false}, {"a*b*c", "aXbYc", true}, {"a*b*c", "aXbY", false},
		{"a?c", "aéc", true}, {"a?c", "a\xffc", true}, {"a?c", "ac", false}, {"[a-c]x", "bx", true},
		{"[!a-c]x", "bx", false}, {"[^a-c]x", "dx", true}, {"[]]x", "]x", true}, {"[a-]x", "-x", true},
		{`\*`, "*", true}, {`\*`, "a", false}, {`[\]]`, "]", true}, {"é*", "éa", true}, {"\xff*", "\xffa", true},
		{"\xff*", "\xfea", false}, {"**", "ab", true}, {"*a", "aaaaaaaaaaaaaaaaaaaab", false},
	} {
		p, err := parsePart(c.pattern)
		if err != nil {
			t.Errorf("%q: %v", c.pattern, err)
			continue
		}
		if got := p.matches(c.name, false); got != c.want {
			t.Errorf("%q against %q: %v, want %v", c.pattern, c.name, got, c.want)
		}
	}
	for _, bad := range []string{"[", "[a", "[]", "[!]", `a\`, "[z-a]", "[[:alpha:]]", "."} {
		if _, err := parsePart(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

// FuzzPart compares with the standard library where both mean the same.
func FuzzPart(f *testing.F) {
	for _, seed := range [][2]string{{"a*b", "ab"}, {"[a-z]?", "x."}, {`\[*`, "[a"}, {"*.*", "a.b.c"}, {"é?", "éü"}, {"[^x]*", "y"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if pattern == "" || strings.ContainsAny(pattern+name, "/\x00") {
			return
		}
		p, err := parsePart(pattern)
		if err != nil {
			return
		}
		got := p.matches(name, true)
		if got && (name == "." || name == ".." || name == "") {
			t.Fatalf("%q matches %q", pattern, name)
		}
		if p.literal() && p.name != name && got {
			t.Fatalf("literal %q matches %q", pattern, name)
		}
		// path.Match knows no "!", takes "]" and "-" otherwise, and reads bytes
		// that are no UTF-8 as one character.
		if strings.ContainsAny(pattern, "!]-\ufffd") || strings.ToValidUTF8(pattern+name, "") != pattern+name || name == "" || name == "." || name == ".." {
			return
		}
		want, err := filepath.Match(pattern, name)
		if err == nil && got != want {
			t.Fatalf("%q against %q: %v, the standard library says %v", pattern, name, got, want)
		}
	})
}

// FuzzPattern must never accept a pattern that could lead above itself.
func FuzzPattern(f *testing.F) {
	for _, seed := range []string{"/tmp/a", "/tmp/*", "/..", `/\.\./x`, "//a//", "/a/./b", "/[.][.]/x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parsePattern(text)
		if err != nil {
			return
		}
		for _, c := range p.parts {
			if c.matches(".", true) || c.matches("..", true) || c.matches("", true) || c.literal() && strings.ContainsAny(c.name, "/\x00") {
				t.Fatalf("%q has the component %+v", text, c)
			}
		}
		r, err := newRules(residue.Job{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := r.admitPattern(p); err == nil && len(p.parts) <= len(b.names) {
			t.Fatalf("%q may take its base", text)
		}
	})
}
