package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// made are the pages, made as make makes them.
func made(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("make"); err != nil {
		t.Skipf("needs make: %v", err)
	}
	folder := t.TempDir()
	cmd := exec.Command("make", "-C", "../..", "man", "MAN="+folder, "VERSION=1.2.3", "SOURCE_DATE_EPOCH=1700000000")
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make man: %v\n%s", err, output)
	}
	return folder
}

// TestPagesAreWellFormed has each page read by the two programs that people
// read it with. A warning is a fault.
func TestPagesAreWellFormed(t *testing.T) {
	folder := made(t)
	for _, p := range pages {
		file := filepath.Join(folder, p.file())
		for _, check := range [][]string{
			{"groff", "-man", "-ww", "-z", file},
			{"mandoc", "-T", "lint", "-W", "warning", file},
		} {
			if _, err := exec.LookPath(check[0]); err != nil {
				t.Skipf("needs %s", check[0])
			}
			output, err := exec.Command(check[0], check[1:]...).CombinedOutput()
			// mandoc lets long lines of the source pass as a matter of style.
			if text := complaints(output); text != "" || err != nil && check[0] == "groff" {
				t.Errorf("%s %s: %v\n%s", check[0], p.file(), err, text)
			}
		}
	}
}

func complaints(output []byte) string {
	var kept []string
	for line := range strings.Lines(string(output)) {
		if !strings.Contains(line, "input text line longer than 80 bytes") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// TestPagesReadWell looks at what a terminal of 80 columns shows.
func TestPagesReadWell(t *testing.T) {
	folder := made(t)
	for _, p := range pages {
		text := render(t, filepath.Join(folder, p.file()))
		title := strings.ToUpper(p.name) + fmt.Sprintf("(%d)", p.section)
		if first, _, _ := strings.Cut(text, "\n"); strings.Count(first, title) != 2 {
			t.Errorf("%s is headed %q", p.file(), first)
		}
		for _, want := range []string{"\nNAME\n       " + p.name + " - " + p.what + "\n", "\nDESCRIPTION\n", "\nSEE ALSO\n", "1.2.3", "2023-11-14"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q", p.file(), want)
			}
		}
		if got := sections(text); slices.Index(got, "NAME") != 0 || slices.Index(got, "SEE ALSO") != len(got)-1 {
			t.Errorf("%s has the sections %q", p.file(), got)
		}
		for line := range strings.Lines(text) {
			if line = strings.TrimRight(line, "\n"); utf8.RuneCountInString(line) > 80 {
				t.Errorf("%s, over 80 columns: %q", p.file(), line)
			}
			if markdown.MatchString(line) {
				t.Errorf("%s shows Markdown: %q", p.file(), line)
			}
		}
	}
}

// markdown is what should have been converted: emphasis, code, links, tables,
// comments, headings.
var markdown = regexp.MustCompile("\\*\\*|`|\\.md\\b|\\]\\([a-z]|^ *\\||<!--|^ *##")

// sections are the headings that stand at the margin.
func sections(text string) []string {
	all := regexp.MustCompile(`(?m)^[A-Z\[][^\n]*$`).FindAllString(text, -1)
	return all[1:] // without the head of the page
}

// render is the page as plain text.
func render(t *testing.T, file string) string {
	t.Helper()
	if _, err := exec.LookPath("man"); err != nil {
		t.Skip("needs man")
	}
	cmd := exec.Command("man", "-l", file)
	cmd.Env = append(os.Environ(), "MANWIDTH=80", "MANPAGER=cat", "MAN_KEEP_FORMATTING=", "LC_ALL=C.UTF-8", "TERM=dumb")
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil || complaint.Len() > 0 {
		t.Fatalf("man -l %s: %v\n%s", file, err, complaint.String())
	}
	return out.String()
}

// TestAproposKnowsThePages: what mandb(8) reads of them for apropos(1).
func TestAproposKnowsThePages(t *testing.T) {
	if _, err := exec.LookPath("lexgrog"); err != nil {
		t.Skip("needs lexgrog of man-db")
	}
	folder := made(t)
	for _, p := range pages {
		file := filepath.Join(folder, p.file())
		output, err := exec.Command("lexgrog", file).CombinedOutput()
		if want := fmt.Sprintf("%s: \"%s - %s\"\n", file, p.name, p.what); err != nil || string(output) != want {
			t.Errorf("lexgrog: %v: %q, want %q", err, output, want)
		}
	}
}

// TestOptionsCanBeCopied: what people copy from a page is ASCII wherever it is
// shown, and whole.
func TestOptionsCanBeCopied(t *testing.T) {
	text := render(t, filepath.Join(made(t), "job-cleanup.1"))
	for _, want := range []string{
		"--metrics-file FILE",
		"ExecStopPost=-/usr/bin/job-cleanup run\n",
		"job-cleanup exec --step 'Path Remove=/tmp/nightly' -- ./nightly.sh\n",
		"~/.local/state/job-cleanup/",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if soft := regexp.MustCompile(`[\x{2010}\x{00AD}]`).FindString(text); soft != "" {
		t.Errorf("a word is divided: %q", soft)
	}
}

// TestUnitsPointToPages: systemctl help finds what a unit says it would.
func TestUnitsPointToPages(t *testing.T) {
	known := map[string]bool{}
	for _, p := range pages {
		known[fmt.Sprintf("man:%s(%d)", p.name, p.section)] = true
	}
	units, err := filepath.Glob("../../units/*.*")
	users, err2 := filepath.Glob("../../units/user/*.*")
	if err != nil || err2 != nil || len(units)*len(users) == 0 {
		t.Fatalf("no units: %v, %v", err, err2)
	}
	for _, unit := range append(units, users...) {
		text, err := os.ReadFile(unit)
		if err != nil {
			t.Fatal(err)
		}
		lines := regexp.MustCompile(`(?m)^Documentation=(.+)$`).FindAllStringSubmatch(string(text), -1)
		if len(lines) != 1 {
			t.Errorf("%s has %d Documentation= lines", unit, len(lines))
			continue
		}
		for _, page := range strings.Fields(lines[0][1]) {
			if !known[page] {
				t.Errorf("%s: there is no page %s", unit, page)
			}
		}
	}
}

// TestPagesAreReproducible: the same source, the same pages.
func TestPagesAreReproducible(t *testing.T) {
	one, two := made(t), made(t)
	for _, p := range pages {
		a, err := os.ReadFile(filepath.Join(one, p.file()))
		b, err2 := os.ReadFile(filepath.Join(two, p.file()))
		if err != nil || err2 != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs: %v, %v", p.file(), err, err2)
		}
	}
}
