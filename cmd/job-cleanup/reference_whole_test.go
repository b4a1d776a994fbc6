package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"job-cleanup/pkg/unitfile"
)

const conceptsPage = "../../docs/concepts.md"

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestCommandReferenceIsWhole: whatever there is to know of the command line
// stands in the page.
func TestCommandReferenceIsWhole(t *testing.T) {
	page := readText(t, commandsPage)
	for _, v := range verbs() {
		_, chapter, found := strings.Cut(page, "\n### "+v.name)
		if found == v.hidden {
			t.Errorf("verb %q: a chapter: %v, for people: %v", v.name, found, !v.hidden)
		}
		chapter, _, _ = strings.Cut(chapter, "\n### ")
		v.flags(&options{}).VisitAll(func(flag *pflag.Flag) {
			if !regexp.MustCompile("`--" + flag.Name + "[` ]").MatchString(chapter) {
				t.Errorf("the chapter on %s lacks --%s", v.name, flag.Name)
			}
		})
	}
	for _, row := range exitTable {
		if !strings.Contains(page, "\n| `"+strconv.Itoa(row.code)+"` | ") {
			t.Errorf("exit code %d is missing", row.code)
		}
	}
	_, also, _ := strings.Cut(page, "\n## See also\n")
	for _, other := range []string{"job-cleanup-plan(5)", "job-cleanup(7)", "systemd.service(5)", "journalctl(1)"} {
		if !strings.Contains(also, other) {
			t.Errorf("See also lacks %s", other)
		}
	}
}

// TestFilesAreInTheReference: those that are installed, and those that are
// written.
func TestFilesAreInTheReference(t *testing.T) {
	_, files, _ := strings.Cut(readText(t, commandsPage), "\n## Files\n")
	files, _, _ = strings.Cut(files, "\n## ")
	want := []string{
		systemState + "/root/", systemState + "/job/", systemRuntime + "/", "$XDG_STATE_HOME/job-cleanup/",
		unitfile.WiringName, "job-cleanup-generator", "tmpfiles.d/job-cleanup.conf", "/usr/share/doc/job-cleanup/examples/",
	}
	for pattern, folder := range map[string]string{
		"../../units/*.*": "/usr/lib/systemd/system/", "../../units/user/*": "/usr/lib/systemd/user/",
	} {
		units, err := filepath.Glob(pattern)
		if err != nil || len(units) == 0 {
			t.Fatalf("%s: %v, %v", pattern, units, err)
		}
		for _, unit := range units {
			want = append(want, "`"+folder+filepath.Base(unit)+"`")
		}
	}
	for _, name := range want {
		if !strings.Contains(files, name) {
			t.Errorf("Files lacks %s", name)
		}
	}
}

// noVariables are words in capitals that are none.
var noVariables = []string{"MESSAGE_ID", "MST", "SIG"} // MST: a time zone's layout

// TestVariablesAreInTheReference: all that the program looks at in its
// environment, which only cmd and what it calls with a look-up do.
func TestVariablesAreInTheReference(t *testing.T) {
	_, page, _ := strings.Cut(readText(t, commandsPage), "\n## Environment\n")
	page, _, _ = strings.Cut(page, "\n## ")
	variables := map[string]string{}
	for _, folder := range []string{".", "../../pkg/outcome", "../../pkg/expand"} {
		for word, file := range capitals(t, folder) {
			if !slices.Contains(noVariables, word) {
				variables[word] = file
			}
		}
	}
	for _, kind := range kinds().Kinds() {
		for word, file := range capitals(t, "../../pkg/clean/"+kind.Name) {
			if regexp.MustCompile(`^(AWS|VAULT|CONSUL|PG|XDG|REDIS)[A-Z]*_`).MatchString(word) {
				variables[word] = file
			}
		}
		for _, option := range kind.Options {
			if option.Env != "" {
				variables[option.Env] = kind.Name
			}
		}
	}
	for _, known := range []string{"SERVICE_RESULT", "XDG_STATE_HOME", "VAULT_ADDR", "AWS_ENDPOINT_URL", "TMPDIR", "CI_JOB_ID"} {
		if variables[known] == "" {
			t.Errorf("the search does not find %s", known)
		}
	}
	for variable, file := range variables {
		if !strings.Contains(page, "`"+variable+"`") {
			t.Errorf("Environment lacks %s (%s)", variable, file)
		}
	}
}

var capital = regexp.MustCompile(`^[A-Z][A-Z0-9_]+$`)

// capitals are the string literals in capitals of a package, tests aside, with
// their files.
func capitals(t *testing.T, folder string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no source in %s: %v", folder, err)
	}
	words := map[string]string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(source, func(node ast.Node) bool {
			if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if word, err := strconv.Unquote(literal.Value); err == nil && capital.MatchString(word) {
					words[word] = file
				}
			}
			return true
		})
	}
	return words
}

// TestJournalIsInTheConcepts: every event with its id, every field and every
// reason, as people filter by them.
func TestJournalIsInTheConcepts(t *testing.T) {
	page := readText(t, conceptsPage)
	events := readText(t, "../../pkg/journal/event.go")
	names := map[string]string{}
	for _, found := range regexp.MustCompile(`(?m)^\t(\w+) +Event = "([a-z-]+)"`).FindAllStringSubmatch(events, -1) {
		names[found[1]] = found[2]
	}
	ids := regexp.MustCompile(`(?m)^\t(\w+): +\{"([0-9a-f]{32})"`).FindAllStringSubmatch(events, -1)
	if len(ids) < 10 || len(ids) != len(names) {
		t.Fatalf("found %d events and %d ids", len(names), len(ids))
	}
	for _, found := range ids {
		row := regexp.MustCompile("(?m)^\\| `" + names[found[1]] + "` \\| [^|]+ \\| " + found[2] + " \\|$")
		if !row.MatchString(page) {
			t.Errorf("no row says that %q has the id %s", names[found[1]], found[2])
		}
	}
	for file, expression := range map[string]string{
		"../../pkg/journal/record.go": `prefix \+ "([A-Z_]+)"`,
		"../../pkg/residue/error.go":  `Reason = "([a-z-]+)"`,
	} {
		found := regexp.MustCompile(expression).FindAllStringSubmatch(readText(t, file), -1)
		if len(found) < 10 {
			t.Fatalf("%s: found %v", file, found)
		}
		for _, word := range found {
			if !strings.Contains(page, "`"+word[1]+"`") && !strings.Contains(page, "`JOB_CLEANUP_"+word[1]+"`") {
				t.Errorf("%s lacks %q", conceptsPage, word[1])
			}
		}
	}
}
