package system_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"job-cleanup/test/rig"
)

const (
	tutorialPage = "../../docs/tutorial.md"
	tutorialUnit = "/etc/systemd/system/nightly@.service"
)

var update = flag.Bool("update", false, "rewrite what the pages say that the program prints")

// TestTutorial does what docs/tutorial.md says, in its order, and compares what
// is printed with what stands there. Servers have other addresses, and times
// and ids are not compared.
func TestTutorial(t *testing.T) {
	page, err := os.ReadFile(tutorialPage)
	if err != nil {
		t.Fatal(err)
	}
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		w := newTutorialWorld(t, m)
		r := &reader{t: t, m: m, world: w, edits: true}
		text := r.follow(string(page))
		if r.commands < 20 || r.meanwhiles < 6 {
			t.Errorf("only %d commands and %d events were found", r.commands, r.meanwhiles)
		}
		w.wantClean()
		if *update && m.Suite == rig.Suites[0] {
			if err := os.WriteFile(tutorialPage, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestSessions types what other pages show of a root shell.
func TestSessions(t *testing.T) {
	pages, err := filepath.Glob("../../docs/kinds/*.md")
	if err != nil {
		t.Fatal(err)
	}
	pages = append(pages, "../../docs/check.md", "../../docs/generate.md")
	inSuites(t, func(t *testing.T, m *rig.Machine) {
		r := &reader{t: t, m: m, world: bareWorld{m}}
		for _, path := range pages {
			page, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			text := r.follow(string(page))
			if *update && m.Suite == rig.Suites[0] {
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
		if r.commands < 20 {
			t.Errorf("only %d commands were found", r.commands)
		}
	})
}

// world is what a page takes for granted.
type world interface {
	real(text string) string  // what stands on the page, as it is here
	shown(text string) string // what is printed here, as the page has it
	meanwhile(what string)
}

// bareWorld is the machine alone.
type bareWorld struct{ m *rig.Machine }

func (bareWorld) real(text string) string  { return text }
func (bareWorld) shown(text string) string { return text }

// meanwhile writes a unit: "NAME has TEXT", where a bar ends a line.
func (w bareWorld) meanwhile(what string) {
	name, text, _ := strings.Cut(what, " has ")
	w.m.Write(name, 0o644, strings.ReplaceAll(text, "|", "\n")+"\n")
}

// reader is somebody who does what a page says.
type reader struct {
	t                    *testing.T
	m                    *rig.Machine
	world                world
	edits                bool   // writes what the page says into the unit
	unit                 string // as far as the page has come
	commands, meanwhiles int
}

// steps of the page: what to write, what to type, and what happens meanwhile.
var pageStep = regexp.MustCompile("(?ms)^```(sh|ini|console)\n(.*?)^```$|^<!-- meanwhile: (.*?) -->$")

// follow goes through the page and returns it with what was really printed.
func (r *reader) follow(page string) string {
	var out strings.Builder
	at := 0
	for _, found := range pageStep.FindAllStringSubmatchIndex(page, -1) {
		part := func(i int) string {
			if found[2*i] < 0 {
				return ""
			}
			return page[found[2*i]:found[2*i+1]]
		}
		out.WriteString(page[at:found[0]])
		at = found[1]
		switch language := part(1); {
		case language == "console":
			out.WriteString("```console\n" + r.session(part(2)) + "```")
			continue
		case language == "ini" && r.edits:
			r.edit(part(2))
		case language == "sh" && r.edits:
			r.script(part(2))
		case language == "":
			r.meanwhiles++
			r.world.meanwhile(part(3))
		}
		out.WriteString(part(0))
	}
	return out.String() + page[at:]
}

// edit does what the page says about the unit: a whole one is written, lines
// of [Service] take the place of the old hook, and sections are added.
func (r *reader) edit(text string) {
	switch {
	case strings.HasPrefix(text, "# "+tutorialUnit+"\n"):
		if r.unit != "" && !slices.Equal(sortedLines(r.unit), sortedLines(text)) {
			r.t.Errorf("the whole unit is not what the page put together:\n%s\n--- together:\n%s", text, r.unit)
		}
		r.unit = text
	case strings.HasPrefix(text, "Exec"):
		r.unit = regexp.MustCompile(`(?m)^ExecStopPost=.*\n`).ReplaceAllLiteralString(r.unit, text)
	default:
		r.unit += "\n" + text
	}
	r.m.Write(tutorialUnit, 0o644, r.world.real(r.unit))
}

// script writes a script to where its second line says.
func (r *reader) script(text string) {
	lines := strings.SplitN(text, "\n", 3)
	path := strings.TrimPrefix(lines[1], "# ")
	r.m.Write(path, 0o755, text)
	r.m.Shell("sh -n " + path)
}

// session types commands and compares what they print. It returns the session
// as it really was.
func (r *reader) session(text string) string {
	var real strings.Builder
	for _, one := range strings.Split("\n"+text, "\n$ ")[1:] {
		command, want, _ := strings.Cut(one, "\n")
		r.commands++
		r.m.Shell("journalctl --sync") // a reader is slower than the journal
		result := r.m.Run("sh", "-c", "exec 2>&1\n"+r.world.real(command))
		got := r.world.shown(result.Stdout)
		if !*update && !slices.Equal(sortedLines(got), sortedLines(want)) {
			r.t.Errorf("%s: %q prints\n%s\nand the page has\n%s", r.m.Suite, command, got, want)
		}
		if slices.Equal(sortedLines(got), sortedLines(want)) {
			got = want // with its own times
		}
		real.WriteString("$ " + command + "\n" + got)
		if got != "" && !strings.HasSuffix(got, "\n") {
			real.WriteString("\n")
		}
	}
	return real.String()
}

// changing is what differs each time: dates, ids, spans, and the blanks that
// make columns of them.
var changing = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`), "DATE"},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "ID"},
	{regexp.MustCompile(`\b([0-9a-f]{32}|[0-9A-Za-z]{24})\b`), "ID"},
	{regexp.MustCompile(`#[0-9a-f]{12}\b`), "#ID"},
	{regexp.MustCompile(`~[0-9a-f]+-[0-9a-f]+`), "~ID"},
	{regexp.MustCompile(`\bprocess \d+`), "process PID"},
	{regexp.MustCompile(`\b\d+(\.\d+)?(µs|ms|s|min)\b`), "SPAN"},
	{regexp.MustCompile(` +`), " "},
}

// sortedLines are the lines of a text without what changes each time. What the
// engine does side by side comes in any order.
func sortedLines(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		for _, c := range changing {
			line = c.what.ReplaceAllString(line, c.with)
		}
		if line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, line)
		}
	}
	slices.Sort(all)
	return all
}
