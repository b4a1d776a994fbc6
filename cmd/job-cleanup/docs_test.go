package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"job-cleanup/pkg/expand"
	"job-cleanup/pkg/residue"
)

// block is a fenced block of a page.
type block struct{ page, language, text string }

var fence = regexp.MustCompile("(?ms)^ *```([a-z]+)\n(.*?)^ *```")

// docsBlocks are the blocks of all pages for people.
func docsBlocks(t *testing.T, languages ...string) []block {
	t.Helper()
	pages := []string{"../../README.md"}
	err := filepath.WalkDir("../../docs", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var all []block
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range fence.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(strings.Join(languages, " "), found[1]) {
				all = append(all, block{page, found[1], found[2]})
			}
		}
	}
	return all
}

// wiring is what the pages leave out where they show steps alone.
const wiring = "[Service]\nType=oneshot\nExecStartPre=-+/usr/bin/job-cleanup arm\nExecStart=/usr/bin/true\nExecStopPost=-/usr/bin/job-cleanup run\n"

// TestDocsPlans: every plan on a page is one that check has nothing to say
// against, as a whole unit or as steps in one that is wired as it should be.
func TestDocsPlans(t *testing.T) {
	plans, units := 0, 0
	for _, b := range docsBlocks(t, "ini") {
		if !strings.Contains(b.text, "[X-Cleanup") {
			continue
		}
		plans++
		if strings.Contains(b.text, "ExecStart=") {
			units++
		} else {
			b.text = wiring + b.text
		}
		file := filepath.Join(t.TempDir(), "batch@.service")
		if err := os.WriteFile(file, []byte(b.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, found := checkFile(t, file); code != 0 || len(found) > 0 {
			t.Errorf("%s: exit code %d, %+v, of\n%s", b.page, code, found, b.text)
		}
		if !strings.Contains(b.text, "${") {
			opens(t, b, file)
		}
	}
	if plans < 13 || units < 4 {
		t.Errorf("only %d plans were found, %d of them whole units", plans, units)
	}
}

// opens fails where a step of a plan would be refused: check passes over what
// the job's own environment might solve, and who copies a plan without
// variables has none to set.
func opens(t *testing.T, b block, file string) {
	t.Helper()
	p := &program{env: environment{}}
	s := p.site(&options{dry: true})
	defer s.close()
	u, err := fileUnit(file)
	if err != nil {
		t.Fatal(err)
	}
	sub := s.asSubject(u)
	compiled, err := s.compile(sub, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range compiled.Problems {
		t.Errorf("%s: %s (%s), of\n%s", b.page, problem.Text, problem.Hint, b.text)
	}
	for _, spec := range compiled.Specs {
		cleaner, err := kinds().Kind(spec.Kind).Open(spec, s.deps(sub.job.Job, spec, newRecorder(nil, s.journal, sub.job.Job)))
		if err == nil {
			residue.Close(cleaner)
		} else if e := residue.AsError(err); e.Class == residue.Refused {
			t.Errorf("%s: %s: %v, of\n%s", b.page, spec.Source, err, b.text)
		}
	}
}

var (
	calls        = regexp.MustCompile(`(?:^|[\s/"(])job-cleanup ([a-z]+(?: .*)?)$`)
	quotedCall   = regexp.MustCompile(`'-\S*/(job-cleanup [^']*)'.*$`)
	substitution = regexp.MustCompile(`\$\([^)]*\)+`)
	behind       = regexp.MustCompile(`\s+(#|&&|\|\||[|;>]).*$`)
)

// commandLines are the calls of the program in a block: what people type, and
// what stands in units.
func commandLines(b block) []string {
	var all []string
	text := regexp.MustCompile(`\\\n\s*`).ReplaceAllString(b.text, "")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if b.language == "console" && !strings.HasPrefix(line, "$ ") || strings.HasPrefix(line, "#") {
			continue // what the program says, not what is said to it
		}
		line = quotedCall.ReplaceAllString(line, " $1") // of systemd-run
		if found := calls.FindStringSubmatch(behind.ReplaceAllString(substitution.ReplaceAllString(line, "X"), "")); found != nil {
			all = append(all, found[1])
		}
	}
	return all
}

// TestDocsCommands: every call of the program on a page has a verb, options
// and nouns that the program knows.
func TestDocsCommands(t *testing.T) {
	seen := 0
	for _, b := range docsBlocks(t, "sh", "console", "ini", "yaml") {
		for _, line := range commandLines(b) {
			seen++
			if err := parses(line); err != nil {
				t.Errorf("%s: %q: %v", b.page, line, err)
			}
		}
	}
	if seen < 30 {
		t.Errorf("only %d calls were found", seen)
	}
}

// parses reads a command line as the program would, without doing what it says.
func parses(line string) error {
	words, err := expand.Split(line)
	if err != nil {
		return err
	}
	v := findVerb(words[0])
	if v == nil {
		return fmt.Errorf("no verb %q", words[0])
	}
	o, err := v.parse(words[1:])
	if err != nil || v.name != "track" || o.forget != "" {
		return err
	}
	if len(o.args) != 2 {
		return fmt.Errorf("track takes a kind and a reference")
	}
	kind, sel, ok := kinds().Noun(o.args[0])
	if !ok {
		return fmt.Errorf("no noun %q", o.args[0])
	}
	s := &site{program: &program{env: environment{}}, opts: o}
	return s.trackedOptions(kind, sel, &residue.Spec{Tracked: &residue.Residue{}})
}
