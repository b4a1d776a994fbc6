package expand

import (
	"errors"
	"strings"
	"testing"
)

func TestExpand(t *testing.T) {
	specs := ForSystem("batch@1.service")
	look := env("ID", "7", "STAR", `a*?[b]\c`, "EMPTY", "", "DOLLAR", "$ID%i${ID}")
	tests := []struct {
		in, text, glob string
		use            Use
	}{
		{"plain", "plain", "plain", Use{}},
		{"", "", "", Use{}},
		{"/t/batch-%i*", "/t/batch-1*", "/t/batch-1*", Use{}},
		{"100%%", "100%", "100%", Use{}},
		{"%%i", "%i", "%i", Use{}},
		{"a-${ID}", "a-7", "a-7", Use{Env: true}},
		{"${ID:-x}", "7", "7", Use{Env: true}},
		{"${NO:-x}", "x", "x", Use{Env: true, Defaulted: true}},
		{"${EMPTY:-x}", "x", "x", Use{Env: true, Defaulted: true}},
		{"${NO:-%T/x%%$$}", "/tmp/x%$", "/tmp/x%$", Use{Env: true, Defaulted: true}},
		{"${NO:-*}*", "**", `\**`, Use{Env: true, Defaulted: true}},
		{"${STAR}*", `a*?[b]\c*`, `a\*\?\[b\]\\c*`, Use{Env: true}},
		{"${DOLLAR}", "$ID%i${ID}", `$ID%i${ID}`, Use{Env: true}},
		{"$$ID", "$ID", "$ID", Use{}},
		{"$${ID}", "${ID}", "${ID}", Use{}},
		{"a$", "a$", "a$", Use{}},
		{"a$/b$.c", "a$/b$.c", "a$/b$.c", Use{}},
	}
	for _, tt := range tests {
		got, err := Expand(tt.in, specs, look)
		if err != nil {
			t.Errorf("%q: %v", tt.in, err)
			continue
		}
		if got.Text() != tt.text || got.Glob() != tt.glob || got.Use != tt.use {
			t.Errorf("%q = %q, %q, %+v; want %q, %q, %+v", tt.in, got.Text(), got.Glob(), got.Use, tt.text, tt.glob, tt.use)
		}
	}
}

func TestExpand_refused(t *testing.T) {
	look := env("EMPTY", "", "UP", "a/../b", "DOT", ".", "NL", "hush\nhush", "SLASH", "//")
	tests := []struct {
		in       string
		variable string // not empty: Unset
		hint     string
	}{
		{"${NO}", "NO", "${NO:-default}"},
		{"${EMPTY}", "EMPTY", "${EMPTY:-default}"},
		{"${EMPTY:-}", "EMPTY", "leave :- away"},
		{"${UP:-}", "UP", "leave :- away"},
		{"$NO", "", "write ${NO}, or $$"},
		{"$(hostname)", "", "$$"},
		{"$1", "", "$$"},
		{"${NO", "", "write ${NAME}"},
		{"${}", "", "${NAME:-default}"},
		{"${1}", "", "${NAME:-default}"},
		{"${NO-x}", "", "${NAME:-default}"},
		{"${NO:?x}", "", "${NAME:-default}"},
		{"${NO:-${ID}}", "", "line of its own"},
		{"${NO:-$ID}", "", "write ${ID}"},
		{"${NO:-..}", "", "stay where"},
		{"${UP}", "", "stay where"},
		{"${DOT}", "", "stay where"},
		{"/x/${SLASH}", "", "folder above"},
		{"${NL}", "", ""},
		{"%z", "", "%%"},
		{"a%", "", "%%"},
		{"a\x00b", "", "one line"},
		{"a\nb", "", "one line"},
	}
	for _, tt := range tests {
		_, err := Expand(tt.in, ForSystem("batch@1.service"), look)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%q: %v, want an *Error", tt.in, err)
			continue
		}
		if e.Variable != tt.variable || e.Unset != (tt.variable != "") || !strings.Contains(e.Hint, tt.hint) {
			t.Errorf("%q: %+v, want variable %q, hint %q", tt.in, e, tt.variable, tt.hint)
		}
		if strings.Contains(e.Text+e.Hint, "hush") {
			t.Errorf("%q: a value of the environment is in the message: %+v", tt.in, e)
		}
	}
}

func TestExpand_identity(t *testing.T) {
	for in, want := range map[string]bool{
		"a-%i/": true, "${ID}": true, "${NO:-%n}": true,
		"a/": false, "%t/": false, "%%i": false, "${NO:-jobs}": false, "%H-%m": false,
	} {
		r, err := Expand(in, Specifiers{Unit: "x@1.service", RuntimeDir: "/run", Host: "h", MachineID: "m"}, env("ID", "7"))
		if err != nil {
			t.Fatalf("%q: %v", in, err)
		}
		got := false
		for _, p := range r.Pieces {
			got = got || p.Identity
		}
		if got != want {
			t.Errorf("%q carries identity: %v", in, got)
		}
	}
}

func TestExpand_withoutEnvironment(t *testing.T) {
	for _, in := range []string{"${ID}", "${ID:-x}"} {
		_, err := Expand(in, Specifiers{}, nil)
		var e *Error
		if !errors.As(err, &e) || !e.Unset || e.Variable != "ID" {
			t.Errorf("%q: %v", in, err)
		}
	}
}
