package unitfile

import (
	"os/exec"
	"strings"
	"testing"
)

func TestParseName(t *testing.T) {
	tests := []struct {
		name string
		want Name
		tmpl string
	}{
		{"batch.service", Name{Prefix: "batch", Type: "service"}, "batch.service"},
		{"batch@1.service", Name{Prefix: "batch", At: true, Instance: "1", Type: "service"}, "batch@.service"},
		{"batch@.timer", Name{Prefix: "batch", At: true, Type: "timer"}, "batch@.timer"},
		{`a-b@x\x2dy@z.1.service`, Name{Prefix: "a-b", At: true, Instance: `x\x2dy@z.1`, Type: "service"}, "a-b@.service"},
	}
	for _, tt := range tests {
		got, err := ParseName(tt.name)
		if err != nil || got != tt.want {
			t.Errorf("%q: got %+v, %v", tt.name, got, err)
		}
		if got.String() != tt.name || got.Template().String() != tt.tmpl {
			t.Errorf("%q: String %q, Template %q", tt.name, got, got.Template())
		}
		if got.IsTemplate() && got.IsInstance() || got.At != (got.IsTemplate() || got.IsInstance()) {
			t.Errorf("%q: template %v, instance %v", tt.name, got.IsTemplate(), got.IsInstance())
		}
		if again := got.Template().WithInstance(got.Instance); again != got {
			t.Errorf("%q: instance of its template is %q", tt.name, again)
		}
	}
	for _, name := range []string{"", "../x.service", "a/b.service", "x", "@1.service"} {
		if n, err := ParseName(name); err == nil {
			t.Errorf("%q: got %+v, want an error", name, n)
		}
	}
}

// escapes are pairs of text and its escaped form, checked against
// systemd-escape below where that is installed.
var escapes = []struct{ text, escaped string }{
	{"a", "a"}, {"a/b", "a-b"}, {"a-b", `a\x2db`}, {".a", `\x2ea`}, {"a.b", "a.b"}, {`a\b`, `a\x5cb`}, {"a b", `a\x20b`},
	{"\n", `\x0a`}, {"ü", `\xc3\xbc`}, {"a@b", `a\x40b`}, {"a:b_c", "a:b_c"}, {"/", "-"}, {"//.x", "--.x"},
}

var pathEscapes = []struct{ path, escaped string }{
	{"/", "-"}, {"/a/b", "a-b"}, {"/a//b/", "a-b"}, {"/.a/b", `\x2ea-b`}, {"/a/.b", "a-.b"}, {"/dev/x-1", `dev-x\x2d1`},
}

func TestEscape(t *testing.T) {
	for _, tt := range escapes {
		if got := Escape(tt.text); got != tt.escaped {
			t.Errorf("Escape(%q) = %q, want %q", tt.text, got, tt.escaped)
		}
		if got, err := Unescape(tt.escaped); err != nil || got != tt.text {
			t.Errorf("Unescape(%q) = %q, %v", tt.escaped, got, err)
		}
	}
	for _, text := range []string{`\`, `\x`, `\x2`, `\x2g`, `\y2d`, `\x-1`, `\x2\`, "\\x\x12\x12"} {
		if got, err := Unescape(text); err == nil {
			t.Errorf("Unescape(%q) = %q, want an error", text, got)
		}
	}
}

func TestEscapePath(t *testing.T) {
	for _, tt := range pathEscapes {
		got, err := EscapePath(tt.path)
		if err != nil || got != tt.escaped {
			t.Errorf("EscapePath(%q) = %q, %v, want %q", tt.path, got, err, tt.escaped)
		}
		back, err := UnescapePath(got)
		if again, _ := EscapePath(back); err != nil || again != got {
			t.Errorf("UnescapePath(%q) = %q, %v", got, back, err)
		}
	}
	for _, path := range []string{"", "a", "a/b", "/a/../b", "/.", "/a/."} {
		if got, err := EscapePath(path); err == nil {
			t.Errorf("EscapePath(%q) = %q, want an error", path, got)
		}
	}
	for _, text := range []string{"", "-a", "a-", "a--b", "--", "..", "a-..", "a-.-b", `a\x2fb-\x2e\x2e`, `\`} {
		if got, err := UnescapePath(text); err == nil {
			t.Errorf("UnescapePath(%q) = %q, want an error", text, got)
		}
	}
}

func TestEscape_asSystemdDoes(t *testing.T) {
	tool, err := exec.LookPath("systemd-escape")
	if err != nil {
		t.Skip("systemd-escape is not installed")
	}
	ask := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), tool, args...).Output()
		if err != nil {
			t.Fatalf("systemd-escape %q: %v", args, err)
		}
		return strings.TrimSuffix(string(out), "\n")
	}
	for _, tt := range escapes {
		if got := ask("--", tt.text); got != tt.escaped {
			t.Errorf("systemd-escape %q is %q, the table says %q", tt.text, got, tt.escaped)
		}
	}
	for _, tt := range pathEscapes {
		if got := ask("--path", "--", tt.path); got != tt.escaped {
			t.Errorf("systemd-escape --path %q is %q, the table says %q", tt.path, got, tt.escaped)
		}
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("a/b-c\\x2d.\n")
	f.Add("./../\xff")
	f.Fuzz(func(t *testing.T, text string) {
		escaped := Escape(text)
		if back, err := Unescape(escaped); err != nil || back != text {
			t.Errorf("Unescape(Escape(%q)) = %q, %v", text, back, err)
		}
		if path, err := UnescapePath(text); err == nil {
			if _, err := EscapePath(path); err != nil {
				t.Errorf("UnescapePath(%q) = %q, which is no path: %v", text, path, err)
			}
		}
	})
}
