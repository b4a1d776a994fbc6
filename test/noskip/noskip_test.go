package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// events is what go test -json prints for tests that ended like this:
// "PACKAGE [TEST] END".
func events(lines ...string) *json.Decoder {
	var text strings.Builder
	for _, line := range lines {
		fields := strings.Fields(line)
		name := ""
		if len(fields) == 3 {
			name = fields[1]
		}
		fmt.Fprintf(&text, `{"Action":"output","Package":%q,"Test":%q,"Output":"said by %s\n"}`, fields[0], name, line)
		fmt.Fprintf(&text, `{"Action":%q,"Package":%q,"Test":%q}`, fields[len(fields)-1], fields[0], name)
	}
	return json.NewDecoder(strings.NewReader(text.String()))
}

func TestTotals(t *testing.T) {
	tests := map[string]struct {
		events                  []string
		passed, failed, skipped int
	}{
		"leaves only":     {[]string{"m/a T/x pass", "m/a T/y skip", "m/a T pass", "m/a pass"}, 1, 0, 1},
		"child fails":     {[]string{"m/a T/x/deep fail", "m/a T/x fail", "m/a T fail", "m/a fail"}, 0, 1, 0},
		"parent fails":    {[]string{"m/a T/x pass", "m/a T fail", "m/a fail"}, 1, 1, 0},
		"does not build":  {[]string{"m/a fail", "m/b T pass", "m/b pass"}, 1, 1, 0},
		"no tests at all": {[]string{"m/a skip"}, 0, 0, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newReport(&strings.Builder{})
			if err := r.read(events(test.events...)); err != nil {
				t.Fatal(err)
			}
			if p, f, s := r.totals(); p != test.passed || f != test.failed || s != test.skipped {
				t.Errorf("%d passed, %d failed, %d skipped", p, f, s)
			}
		})
	}
}

func TestRules(t *testing.T) {
	r := newReport(&strings.Builder{})
	if err := r.read(events("m/a/b TestOne/sub skip", "m/a/b TestOne pass", "m/xb TestTwo skip", "m/a/b pass")); err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{
		"a/b TestOne":       "required, but skipped: m/a/b TestOne/sub",
		"b Test*":           "required, but skipped: m/a/b TestOne/sub",
		"xb TestT*":         "required, but skipped: m/xb TestTwo",
		"a/b TestT* # none": "required, but not there: a/b TestT* (line 1)",
		"# nothing":         "",
	}
	for text, want := range tests {
		rules, err := parseRules(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(r.broken(rules), "\n"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for _, bad := range []string{"one", "one two three", "pkg ["} {
		if _, err := parseRules(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func TestShow(t *testing.T) {
	var out strings.Builder
	if err := newReport(&out).read(events("m/a TestGood pass", "m/a TestBad fail", "m/a TestNot skip", "m/a fail")); err != nil {
		t.Fatal(err)
	}
	want := "said by m/a TestBad fail\nsaid by m/a TestNot skip\nsaid by m/a fail\n"
	if out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}
