package plan

import (
	"strings"
	"testing"

	"job-cleanup/pkg/expand"
	"job-cleanup/pkg/residue"
)

// What names nothing, everything or a folder above is refused before anybody
// looks at the disk.
func TestCase17_unsetAndDots(t *testing.T) {
	tests := []struct {
		value  string
		reason residue.Reason
	}{
		{`""`, residue.Other}, {"/", residue.Protected}, {"//", residue.Protected}, {".", residue.Other}, {"..", residue.Other},
		{"/tmp/.", residue.Other}, {"/tmp/..", residue.Other}, {"/tmp/../etc", residue.Other}, {"/..", residue.Other},
		{`/tmp/\.\.`, residue.Other}, {`/tmp/\../etc`, residue.Other},
		{"$HOME", residue.Other}, {"${UNSET}", residue.Unset}, {"/tmp/${UNSET}", residue.Unset}, {"/tmp/batch-${UNSET}*", residue.Unset},
		{"/tmp/${EMPTY}", residue.Unset}, {"/tmp/${UNSET:-}", residue.Unset}, {"/tmp/${EMPTY:-${EMPTY}}", residue.Other},
		{"/tmp/${UNSET:-..}", residue.Other}, {"/tmp/${UP}", residue.Other}, {"/tmp/${DOT}", residue.Other}, {"/tmp/.${DOT}/etc", residue.Other},
		{"/tmp/a/${SLASH}", residue.Other}, {"${SLASH}", residue.Other}, {"/tmp/%H", residue.Unset}, {"/tmp/%z", residue.Other},
	}
	for _, tt := range tests {
		for _, key := range []string{"Remove", "Unmount"} {
			p := compile(t, "[X-Cleanup.Path]\nRemove=/tmp/good-sibling\n"+key+"="+tt.value+"\n[X-Cleanup.Path]\nRemove=/tmp/other\n")
			if key == "Unmount" && strings.Contains(tt.value, `\`) {
				continue // a backslash means nothing in a plain path
			}
			if len(p.Problems) != 1 || p.Problems[0].Reason != tt.reason || p.Problems[0].Line != 3 {
				t.Errorf("%s=%s: problems %+v, want one of reason %q at line 3", key, tt.value, p.Problems, tt.reason)
			}
			if len(p.Specs) != 1 || p.Specs[0].Value != "/tmp/other" {
				t.Errorf("%s=%s: specs %+v, want the other step's alone", key, tt.value, p.Specs)
			}
		}
	}
	if p := compile(t, "[X-Cleanup.Path]\nRemove=\n"); len(p.Problems) != 1 || len(p.Specs) != 0 {
		t.Errorf("Remove= alone: %+v", p)
	}
	noInstance := func(c *Context) { c.Specifiers = expand.ForSystem("batch.service") }
	if p := compile(t, "[X-Cleanup.Path]\nRemove=/tmp/batch-%i*\n", noInstance); len(p.Specs) != 0 || len(p.Problems) != 1 || p.Problems[0].Reason != residue.Unset {
		t.Errorf("%%i without an instance: %+v", p)
	}
}

// An unknown key or kind refuses its step, names the nearest known word, and
// leaves the others alone.
func TestCase18_unknownKeyAndKind(t *testing.T) {
	p := compile(t, "[X-Cleanup.Store]\nKey=a\nTokne=env:T\n[X-Cleanup.Stroe]\nKey=a\n[X-Cleanup.Store]\nKey=b\n")
	if len(p.Specs) != 1 || p.Specs[0].Value != "b" || p.Specs[0].Name != "store-2" {
		t.Errorf("specs %+v", p.Specs)
	}
	want := []Problem{
		{File: "p", Line: 3, Step: "store", Kind: "store", Text: `unknown key "Tokne"`, Hint: `did you mean "Token"?`, Reason: residue.Other},
		{File: "p", Line: 4, Step: "stroe", Text: `unknown kind "stroe"`, Hint: "did you mean [X-Cleanup.Store]?", Reason: residue.Other},
	}
	if len(p.Problems) != 2 || p.Problems[0] != want[0] || p.Problems[1] != want[1] {
		t.Errorf("problems\n got %+v\nwant %+v", p.Problems, want)
	}
}

// A prefix ends in a delimiter and carries the job's identity.
func TestCase48_prefix(t *testing.T) {
	for value, want := range map[string]string{
		"jobs/1": "", "jobs/": "", "jobs/1/": "", "jobs/%i": "", "jobs/${ID}": "", "%t/": "", "jobs/%%i/": "", "jobs/${UNSET:-1}/": "",
		"%H/": "", "/": "", "jobs/%i*": "", "jobs/${DELIM}": "",
		"jobs/%i/": "jobs/a-1/", "%n:": "my-batch@a-1.service:", "%j_": "batch_", "${ID}-": "run 7-", "jobs/${UNSET:-%p}.": "jobs/my-batch.",
	} {
		p := compile(t, "[X-Cleanup.Store]\nAbort="+value+"\n")
		if want == "" {
			if len(p.Specs) != 0 || len(p.Problems) != 1 || p.Problems[0].Hint == "" {
				t.Errorf("Abort=%s: specs %+v, problems %+v; want it refused with a hint", value, p.Specs, p.Problems)
			}
			continue
		}
		if len(p.Problems) != 0 || len(p.Specs) != 1 || p.Specs[0].Value != want {
			t.Errorf("Abort=%s: specs %+v, problems %+v; want %q", value, p.Specs, p.Problems, want)
		}
	}
}

// Text of the environment is marked in every spec it gets into, and in no
// other.
func TestCase39_fromEnvironment(t *testing.T) {
	set := func(pairs ...string) func(*Context) { return func(c *Context) { c.Env = look(pairs...) } }
	tests := []struct {
		text string
		env  []string
		want []bool
	}{
		{"[X-Cleanup.Path]\nRemove=/tmp/a-%i\nRemove=/tmp/${ID}\n", nil, []bool{false, true}},
		{"[X-Cleanup.Path]\nRemove=/tmp/${UNSET:-a}\n", nil, []bool{true}},
		{"[X-Cleanup.Path]\nRemove=/tmp/a\nRemove=/tmp/b\nExclude=/tmp/${ID}\n", nil, []bool{true, true}},
		{"[X-Cleanup.Path]\nRemove=/tmp/a\n", []string{"WORKSPACE", "/work"}, []bool{true}},
		{"[X-Cleanup.Path]\nRemove=/tmp/a\nWithin=/srv\n", []string{"WORKSPACE", "/work"}, []bool{false}},
		{"[X-Cleanup.Path]\nRemove=/tmp/a\nName=${ID}\n", nil, []bool{true}},
		{"[X-Cleanup.Path]\nRemove=/tmp/a\nWhen=${W}\n", []string{"W", "failure"}, []bool{true}},
		{"[X-Cleanup.Path]\nRemove=/tmp/a\nTimeoutSec=${W}\n", []string{"W", "5"}, []bool{true}},
		{"[X-Cleanup.Path]\nRemove=/tmp/a\nEnabled=${W}\n", []string{"W", "yes"}, []bool{false}},
		{"[X-Cleanup.Store]\nKey=a\n", []string{"STORE_ADDR", "https://evil"}, []bool{true}},
		{"[X-Cleanup.Store]\nKey=a\nAddress=https://good\n", []string{"STORE_ADDR", "https://evil"}, []bool{false}},
		{"[X-Cleanup.Store]\nKey=a\n", []string{"STORE_TOKEN", "hush"}, []bool{false}},
		{"[X-Cleanup.Command]\nRun=/bin/a\nRun=/bin/b ${ID}\nRun=/bin/c $${ID}\n", nil, []bool{false, true, false}},
		{"[X-Cleanup.Path]\nRemove=/tmp/run 7\nRemove=/tmp/${ID}\n", nil, []bool{false}}, // one spec, and the plan names it itself
		{"[X-Cleanup.Path]\nRemove=/tmp/${ID}\nRemove=/tmp/run 7\n", nil, []bool{false}},
	}
	for _, tt := range tests {
		p := compile(t, tt.text, set(tt.env...))
		var got []bool
		for _, s := range p.Specs {
			got = append(got, s.FromEnv)
		}
		if len(p.Problems) != 0 || len(got) != len(tt.want) {
			t.Errorf("%s: %d specs, problems %+v", tt.text, len(got), p.Problems)
			continue
		}
		for i := range got {
			if got[i] != tt.want[i] {
				t.Errorf("%s with %q: spec %d FromEnv = %v", tt.text, tt.env, i, got[i])
			}
		}
	}
}
