package plan

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/unitfile"
)

func TestOptionDefaults(t *testing.T) {
	for _, tt := range []struct {
		lines string
		env   []string
		want  map[string][]string
	}{
		{"", nil, map[string][]string{"Address": {"https://127.0.0.1"}, "Token": {"file:/run/store-token"}, "Wait": {"5m0s"}}},
		{"", []string{"STORE_ADDR", "https://*", "STORE_TOKEN", "hush"}, map[string][]string{"Address": {"https://*"}, "Token": {"env:STORE_TOKEN"}, "Wait": {"5m0s"}}},
		{"", []string{"STORE_ADDR", ""}, map[string][]string{"Address": {"https://127.0.0.1"}, "Token": {"file:/run/store-token"}, "Wait": {"5m0s"}}},
		{"Address=https://a\nAddress=https://b\nWait=infinity\nToken=env:T\n", []string{"STORE_ADDR", "https://c"},
			map[string][]string{"Address": {"https://b"}, "Token": {"env:T"}, "Wait": {"infinity"}}},
	} {
		p := compile(t, "[X-Cleanup.Store]\nKey=a\n"+tt.lines, func(c *Context) { c.Env = look(tt.env...) })
		if len(p.Problems) != 0 || len(p.Specs) != 1 || !reflect.DeepEqual(p.Specs[0].Options, tt.want) {
			t.Errorf("%q, %q: %+v, want options %v", tt.lines, tt.env, p, tt.want)
		}
	}
	p := compile(t, "[X-Cleanup.Path]\nRemove=/tmp/a\n", func(c *Context) { c.Env = look("WORKSPACE", "/w/../etc") })
	if len(p.Specs) != 0 || len(p.Problems) != 1 || !strings.HasPrefix(p.Problems[0].Error(), "p:1: Within=:") {
		t.Errorf("a default of the environment with dots: %+v", p)
	}
}

// Before the job has run, what it may still set is put off, and nothing else.
func TestEarly(t *testing.T) {
	early := func(c *Context) { c.Early = true }
	for lines, want := range map[string]string{
		"[X-Cleanup.Path]\nRemove=/tmp/${ID}\n":                                 "spec",
		"[X-Cleanup.Path]\nRemove=/tmp/${UNSET}\n":                              "deferred",
		"[X-Cleanup.Path]\nRemove=/tmp/${UNSET:-a}\n":                           "deferred",
		"[X-Cleanup.Path]\nRemove=/tmp/a\nExclude=/tmp/${UNSET:-a}\n":           "deferred",
		"[X-Cleanup.Path]\nRemove=/tmp/${UNSET:-}\nRemove=/tmp/%z\n":            "refused",
		"[X-Cleanup.Path]\nRemove=/tmp/%H\n":                                    "refused",
		"[X-Cleanup.Path]\nRemove=/tmp/a\nEnabled=${UNSET:-yes}\n":              "spec",
		"[X-Cleanup.Path]\nRemove=/tmp/a\nEnabled=${UNSET:-no}\n":               "skip",
		"[X-Cleanup.Path]\nRemove=/tmp/a\nTimeoutSec=${UNSET:-5}\n":             "spec",
		"[X-Cleanup.Command]\nRun=/bin/a ${UNSET} ${UNSET:-b}\n":                "spec",
		"[X-Cleanup.Command]\nRun=/bin/a ${UNSET\n":                             "refused",
		"[X-Cleanup.Store]\nKey=${UNSET:-a}\nName=${UNSET:-b}\nWhen=${UNSET}\n": "deferred",
	} {
		p := compile(t, lines, early)
		got := "spec"
		switch {
		case len(p.Skips) > 0:
			got = "skip"
		case len(p.Problems) > 0:
			got = "deferred"
			for _, x := range p.Problems {
				if !x.Deferred {
					got = "refused"
				}
				if x.Deferred && x.Reason != residue.Unset {
					t.Errorf("%s: deferred for reason %q", lines, x.Reason)
				}
			}
		}
		if got != want || (len(p.Specs) > 0) != (want == "spec") {
			t.Errorf("%s: %s, want %s: %+v", lines, got, want, p)
		}
	}
	if p := compile(t, "[X-Cleanup.Path]\nRemove=/tmp/${UNSET}\n"); len(p.Problems) != 1 || p.Problems[0].Deferred {
		t.Errorf("after the job nothing is put off: %+v", p.Problems)
	}
}

func TestNames(t *testing.T) {
	p := compile(t, "[X-Cleanup.Path]\nRemove=/tmp/a\n[X-Cleanup.Path]\nName=path-3\nRemove=/tmp/b\n[X-Cleanup.Path]\nRemove=/tmp/c\n"+
		"[X-Cleanup.Path]\nName=PATH-4\nRemove=/tmp/d\n[X-Cleanup.Path]\nRemove=/tmp/e\n[X-Cleanup.Store]\nKey=x\nName=of %i\n")
	var got []string
	for _, s := range p.Specs {
		got = append(got, s.Name)
	}
	want := []string{"path", "path-3", "path-5", "PATH-4", "path-6", "of a-1"} // path-3 and path-4 are taken
	if !reflect.DeepEqual(got, want) || len(p.Problems) != 0 {
		t.Errorf("names %q, want %q; %+v", got, want, p.Problems)
	}
}

func TestSpecIDs(t *testing.T) {
	p := compile(t, "[X-Cleanup.Path]\nRemove=/tmp/a\nRemove=/tmp/b\nRemove=/tmp/a\n[X-Cleanup.Path]\nRemove=/tmp/a\nTimeoutSec=5\n")
	if len(p.Specs) != 3 || p.Specs[0].ID == "" || p.Specs[0].ID == p.Specs[1].ID || p.Specs[0].ID != p.Specs[2].ID {
		t.Errorf("specs %+v", p.Specs)
	}
}

func TestParseStep(t *testing.T) {
	s, err := ParseStep(`path Remove=/var/tmp/batch-%i "Exclude=/var/tmp/a b" Remove='/tmp/\\*' Remove=/tmp/\x25i Name=`)
	if err != nil || s.Name != "X-Cleanup.path" || s.File != "--step" {
		t.Fatalf("%+v, %v", s, err)
	}
	p := Compile([]unitfile.Section{s}, Context{Registry: kinds(), Specifiers: compileContext().Specifiers, Env: look()})
	var got []string
	for _, x := range p.Specs {
		got = append(got, x.Value)
		if x.Source != "--step" || !reflect.DeepEqual(x.Options, map[string][]string{"Exclude": {"/var/tmp/a b"}}) {
			t.Errorf("spec %+v", x)
		}
	}
	if want := []string{"/var/tmp/batch-a-1", `/tmp/\*`, "/tmp/%i"}; !reflect.DeepEqual(got, want) || len(p.Problems) != 0 {
		t.Errorf("values %q, want %q; %+v", got, want, p.Problems)
	}
	for _, text := range []string{"", "  ", "Remove=/tmp/a", "Path /tmp/a", "Path =x", `Path Remove="/tmp/a`, "Path Remove=\x00"} {
		var x Problem
		if _, err := ParseStep(text); !errors.As(err, &x) || !strings.HasPrefix(x.Error(), "--step: ") {
			t.Errorf("ParseStep(%q): %v", text, err)
		}
	}
	s, _ = ParseStep(`Path Remove=/tmp/a\nb`)
	if p := Compile([]unitfile.Section{s}, compileContext()); len(p.Specs) != 0 || len(p.Problems) != 1 {
		t.Errorf("a newline in a path: %+v", p)
	}
}

func TestFilter(t *testing.T) {
	text := "[X-Cleanup.Path]\nName=Scratch\nRemove=/tmp/a\nUnmount=/tmp/m\n[X-Cleanup.Store]\nKey=k\nLogout=yes\n" +
		"[X-Cleanup.Store]\nNonsense=1\n[X-Cleanup.Command]\nEnabled=no\nRun=/bin/a\n"
	for _, tt := range []struct {
		skip, only []string
		want       string // what is left, then the refused steps
		hint       string
	}{
		{nil, nil, "Remove Unmount Key Logout | store-2", ""},
		{[]string{"scratch"}, nil, "Key Logout | store-2", ""},
		{[]string{"PATH"}, nil, "Key Logout | store-2", ""},
		{[]string{"path-mount", "store-login"}, nil, "Remove Key | store-2", ""},
		{[]string{"store"}, nil, "Remove Unmount |", ""},
		{[]string{"store-2"}, nil, "Remove Unmount Key Logout |", ""},
		{nil, []string{"store-key"}, "Key | store-2", ""},
		{nil, []string{"Scratch"}, "Remove Unmount |", ""},
		{[]string{"store-login"}, []string{"store"}, "Key | store-2", ""},
		{[]string{"command"}, nil, "Remove Unmount Key Logout | store-2", ""},
		{[]string{"unit"}, nil, "Remove Unmount Key Logout | store-2", ""},
		{[]string{"scrach"}, nil, "", `did you mean "Scratch"?`},
		{nil, []string{"store-logn"}, "", `did you mean "store-login"?`},
		{nil, []string{""}, "", "known are"},
	} {
		p := compile(t, text)
		before := len(p.Specs)
		err := p.Filter(kinds(), tt.skip, tt.only)
		if tt.hint != "" {
			var x Problem
			if !errors.As(err, &x) || !strings.Contains(x.Hint, tt.hint) || len(p.Specs) != before {
				t.Errorf("%q %q: %v, want hint %q and the plan as it was", tt.skip, tt.only, err, tt.hint)
			}
			continue
		}
		var left []string
		for _, s := range p.Specs {
			left = append(left, s.Selector)
		}
		left = append(left, "|")
		for _, x := range p.Problems {
			left = append(left, x.Step)
		}
		if got := strings.Join(left, " "); err != nil || got != tt.want {
			t.Errorf("%q %q: %s, %v; want %s", tt.skip, tt.only, got, err, tt.want)
		}
		if len(p.Specs)+len(p.Skips) != before+1 {
			t.Errorf("%q %q: %d specs and %d skips, want %d and the disabled step in all", tt.skip, tt.only, len(p.Specs), len(p.Skips), before)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"Remove", "Exclude", "Within", "When"}
	for word, want := range map[string]string{
		"Remvoe": "Remove", "remove": "Remove", "Removed": "Remove", "Wehn": "When", "Withn": "Within", "Excldue": "Exclude",
		"Whn": "When", "Token": "", "X": "", "": "", "Rem": "", strings.Repeat("Remove", 1000): "",
	} {
		if got := nearest(word, known); got != want {
			t.Errorf("nearest(%.20q) = %q, want %q", word, got, want)
		}
	}
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"ab", "ba", 1}, {"kitten", "sitting", 3}, {"ä", "a", 1}, {"abc", "abc", 0}, {"abcd", "acbd", 1}} {
		if got := distance(tt.a, tt.b, 9); got != tt.want {
			t.Errorf("distance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
	if got := distance("kitten", "sitting", 1); got != 2 {
		t.Errorf("bounded distance = %d, want 2", got)
	}
}

// A line of a megabyte costs no more than its length, and a message about it
// stays readable.
func TestLongLines(t *testing.T) {
	long := strings.Repeat("a%%$$", 60_000)
	p := compile(t, "[X-Cleanup.Store]\nKey="+long+"${UNSET:-"+long+"}\n[X-Cleanup.Command]\nRun="+long+"\n[X-Cleanup.Store]\n"+long+"=x\n")
	if len(p.Specs) != 2 || len(p.Specs[0].Value) != 2*3*60_000 {
		t.Errorf("%d specs", len(p.Specs))
	}
	if len(p.Problems) != 1 || len(p.Problems[0].Error()) > 600 {
		t.Errorf("%d problems", len(p.Problems))
	}
}

// An exact name that every job shares is no residue of one of them.
func TestCompile_name(t *testing.T) {
	for value, want := range map[string]string{
		"app": "", "%H": "", "job_%%i": "", "a_${PUNCT}": "", "a_${UNSET:-1}": "",
		"job_%i": "job_a-1", "%p": "my-batch", "%i": "a-1", "a ${ID}": "a run 7", "%i.orders": "a-1.orders", "*%i*": "*a-1*",
	} {
		p := compile(t, "[X-Cleanup.Store]\nDrop="+value+"\n")
		if want == "" {
			if len(p.Specs) != 0 || len(p.Problems) != 1 || p.Problems[0].Hint == "" {
				t.Errorf("Drop=%s: specs %+v, problems %+v; want it refused with a hint", value, p.Specs, p.Problems)
			}
			continue
		}
		if len(p.Problems) != 0 || len(p.Specs) != 1 || p.Specs[0].Value != want {
			t.Errorf("Drop=%s: specs %+v, problems %+v; want %q", value, p.Specs, p.Problems, want)
		}
	}
}
