package plan

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"job-cleanup/pkg/expand"
	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/unitfile"
)

// mark is the text that every variable holds; no input may hold it.
const mark = "Q7zEnvQ7z"

// compileContext is a context in which every variable is set to mark.
func compileContext() Context {
	return Context{Registry: kinds(), Specifiers: expand.ForSystem("my-batch@a-1.service"),
		Env: func(name string) (string, bool) {
			if name == "WORKSPACE" || name == "UNSET" {
				return "", false
			}
			return mark, true
		}}
}

// Whatever the bytes are: no panic, only clean absolute paths, and text of the
// environment only where it is marked.
func FuzzCompile(f *testing.F) {
	plans, _ := filepath.Glob("testdata/plans/*.plan")
	for _, file := range plans {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, false)
	}
	f.Add([]byte("[X-Cleanup.Path]\nRemove=/a/${X:-%i}/[a\\]*\nWithin=//${X}//\n"), true)
	reg := kinds()
	f.Fuzz(func(t *testing.T, text []byte, early bool) {
		sections, _ := unitfile.Parse("p", text)
		if step, err := ParseStep(string(text)); err == nil {
			sections = append(sections, step)
		}
		ctx := compileContext()
		ctx.Early = early
		if strings.Contains(string(text), "Q7z") || strings.Contains(string(text), `\`) {
			ctx.Env = func(string) (string, bool) { return "", false } // an escape could spell the mark
		}
		p := Compile(sections, ctx)
		for _, s := range p.Specs {
			checkSpec(t, reg, s)
		}
		for _, x := range p.Problems {
			if x.Text == "" || x.File == "" || x.Reason == "" || strings.Contains(x.Error()+x.Hint, mark) {
				t.Errorf("problem %+v", x)
			}
		}
	})
}

// checkSpec checks what must hold for every spec.
func checkSpec(t *testing.T, reg *residue.Registry, s residue.Spec) {
	t.Helper()
	kind := reg.Kind(s.Kind)
	sel, ok := kind.Selector(s.Selector)
	if !ok || s.Value == "" || s.ID == "" || s.Name == "" || s.Source == "" || s.Phase != sel.Phase {
		t.Errorf("spec %+v", s)
	}
	checkText(t, sel.Value, s.Value)
	opaque := sel.Value == residue.Words || sel.Value == residue.String
	if s.Value == "/" && !opaque {
		t.Error("the root of all is selected")
	}
	for key, values := range s.Options {
		o, ok := optionOf(kind.Options, key)
		if !ok || len(values) == 0 {
			t.Errorf("option %q of %+v", key, s)
		}
		for _, v := range values {
			checkText(t, o.Value, v)
		}
	}
	line, err := json.Marshal(s)
	if err != nil || !s.FromEnv && strings.Contains(string(line), mark) {
		t.Errorf("not marked as of the environment: %s, %v", line, err)
	}
}

// checkText checks a value against its type, by other means than compile.
func checkText(t *testing.T, v residue.Value, text string) {
	t.Helper()
	switch v {
	case residue.Path, residue.Glob:
		if !filepath.IsAbs(text) || strings.ContainsAny(text, "\x00\n") {
			t.Errorf("path %q", text)
		}
		bare := text
		if v == residue.Glob {
			bare = strings.ReplaceAll(text, `\`, "")
		}
		for _, name := range strings.Split(bare, "/")[1:] {
			if (name == "." || name == "..") && (v == residue.Path || !strings.Contains(text, `\\`)) {
				t.Errorf("path %q has dots", text)
			}
		}
		if strings.Contains(text, "//") {
			t.Errorf("path %q is not clean", text)
		}
	case residue.Prefix:
		if !strings.ContainsAny(text[len(text)-1:], delimiters) {
			t.Errorf("prefix %q", text)
		}
	case residue.Words:
		if words, err := expand.Words(text, func(string) (string, bool) { return "x", true }); err != nil || len(words) == 0 {
			t.Errorf("command %q: %q, %v", text, words, err)
		}
	}
}
