package journal

import (
	"testing"
	"time"

	"job-cleanup/pkg/outcome"
)

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"":                         "",
		"plain /tmp/a b\tc":        "plain /tmp/a b\tc",
		"grüße 日本":                 "grüße 日本",
		"a\nb\rc\x00\x7f\x1b[31m":  `a\x0ab\x0dc\x00\x7f\x1b[31m`,
		"\xff\xc3":                 `\xff\xc3`,
		"\u0085\u2028\u202e\ufeff": `\u0085\u2028\u202e\ufeff`,
		"\U000e0001":               `\U000e0001`,
		"\ufffd":                   "\ufffd",
	} {
		if got := Escape(in); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

func TestText(t *testing.T) {
	for want, r := range map[string]Record{
		"removed path /tmp/x":                             {Event: Removed, Kind: "path", Ref: "/tmp/x"},
		"owed path /tmp/x (deadline): too big, attempt 3": {Event: Owed, Kind: "path", Ref: "/tmp/x", Reason: "deadline", Detail: "too big", Attempt: 3},
		"skipped path tree (disabled)":                    {Event: Skipped, Kind: "path", Step: "tree", Reason: "disabled"},
		"armed a.service":                                 {Event: Armed, Unit: "a.service"},
		"refused path /home/x (protected): f:3: a home":   {Event: Refused, Kind: "path", Ref: "/home/x", Reason: "protected", Source: "f:3", Detail: "a home"},
		"stopped unit a-helper.service":                   {Event: Removed, Done: "stopped", Kind: "unit", Ref: "a-helper.service"},
		"problem f:3: unknown key":                        {Event: Problem, Source: "f:3", Detail: "unknown key"},
		"my own words":                                    {Event: Owed, Message: "my own words"},
		"cleanup of the job: nothing to do":               {Event: Summary},
		"cleanup of a.service (timeout): 2 removed, 1 owed in 15ms": {
			Event: Summary, Unit: "a.service", Counts: map[Event]int{Owed: 1, Removed: 2, Absent: 0},
			Outcome: outcome.Outcome{Result: "timeout"}, Duration: 15*time.Millisecond + 3*time.Microsecond,
		},
	} {
		if got := Text(r); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("a\nb")
	f.Add("\xff\u202e")
	f.Fuzz(func(t *testing.T, in string) {
		out := Escape(in)
		for _, r := range out {
			if !shown(r) {
				t.Fatalf("%q became %q", in, out)
			}
		}
		if Escape(out) != out {
			t.Fatalf("not settled: %q", out)
		}
	})
}
