package expand

import (
	"os/exec"
	"strings"
	"testing"
)

// unitNames are pairs of text and its escaped form.
var unitNames = []struct{ text, escaped string }{
	{"a", "a"}, {"a/b", "a-b"}, {"a-b", `a\x2db`}, {".a", `\x2ea`}, {"a.b", "a.b"}, {`a\b`, `a\x5cb`}, {"a b", `a\x20b`},
	{"\n", `\x0a`}, {"ü", `\xc3\xbc`}, {"a@b", `a\x40b`}, {"a:b_c", "a:b_c"}, {"/", "-"}, {"//.x", "--.x"},
}

func TestUnescape(t *testing.T) {
	for _, tt := range unitNames {
		if got, err := unescape(tt.escaped); err != nil || got != tt.text {
			t.Errorf("%q: %q, %v", tt.escaped, got, err)
		}
	}
	for _, text := range []string{`\`, `\x`, `\x2`, `\x2g`, `\y2d`, `\x-1`, `\x+1`, `\x2\`, "\\x\x12\x12"} {
		if got, err := unescape(text); err == nil {
			t.Errorf("%q: %q, want an error", text, got)
		}
	}
}

// The table is what systemd itself says.
func TestUnescape_asSystemdEscapes(t *testing.T) {
	tool, err := exec.LookPath("systemd-escape")
	if err != nil {
		t.Skip("systemd-escape is not installed")
	}
	for _, tt := range unitNames {
		out, err := exec.CommandContext(t.Context(), tool, "--", tt.text).Output()
		if got := strings.TrimSuffix(string(out), "\n"); err != nil || got != tt.escaped {
			t.Errorf("systemd-escape %q is %q, %v; the table says %q", tt.text, got, err, tt.escaped)
		}
	}
}
