package plan

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"job-cleanup/pkg/expand"
	"job-cleanup/pkg/outcome"
	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/unitfile"
)

var update = flag.Bool("update", false, "write the expected results anew; read the difference before you keep it")

// kinds is a registry with every type of value; nothing of it is ever opened.
func kinds() *residue.Registry {
	return residue.NewRegistry(
		&residue.Kind{Name: "path", Doc: "Files and folders.",
			Selectors: []residue.Selector{
				{Key: "Remove", Type: "path", Value: residue.Glob, Phase: residue.Data, Doc: "Trees to remove.", Example: "/var/tmp/batch-%i"},
				{Key: "Unmount", Type: "mount", Value: residue.Path, Phase: residue.Data, Rank: 1, Doc: "Mounts of the job's own."},
			},
			Options: []residue.Option{
				{Key: "Exclude", Value: residue.Glob, Many: true, Doc: "Never touched."},
				{Key: "Within", Value: residue.Path, Many: true, Env: "WORKSPACE", Doc: "Further bases."},
			}},
		&residue.Kind{Name: "command", Doc: "A command.",
			Selectors: []residue.Selector{{Key: "Run", Type: "command", Value: residue.Words, Phase: residue.Data, Rank: 2, NoTrack: true, Doc: "Split like an Exec line."}},
			Options:   []residue.Option{{Key: "Output", Value: residue.Bool, Default: "true", Doc: "Its output goes to the journal."}}},
		&residue.Kind{Name: "unit", Doc: "Units.",
			Selectors: []residue.Selector{{Key: "Stop", Type: "unit", Value: residue.UnitName, Phase: residue.Processes, NoTrack: true, Doc: "Units to stop.", Example: "job-%i-*.service"}}},
		&residue.Kind{Name: "store", Doc: "A store | of things.",
			Selectors: []residue.Selector{
				{Key: "Abort", Type: "upload", Value: residue.Prefix, Phase: residue.Data, Doc: "Uploads below a prefix."},
				{Key: "Logout", Type: "login", Value: residue.Bool, Phase: residue.Credentials, Doc: "Ends the login."},
				{Key: "Key", Type: "key", Value: residue.String, Phase: residue.Locks, Doc: "One key."},
				{Key: "Drop", Type: "drop", Value: residue.Name, Phase: residue.Data, Doc: "One drop."},
			},
			Options: []residue.Option{
				{Key: "Address", Value: residue.String, Env: "STORE_ADDR", Default: "https://127.0.0.1", Doc: "The server."},
				{Key: "Token", Value: residue.SecretRef, Env: "STORE_TOKEN", Default: "file:%t/store-token", Doc: "What to log in with."},
				{Key: "Wait", Value: residue.Span, Default: "5min", Doc: "For an answer."},
				{Key: "Tries", Value: residue.Number, Doc: "At most."},
			}},
	)
}

// environment is what fixtures see.
var environment = map[string]string{
	"ID": "run 7", "STAR": "a*[b]?", "EMPTY": "", "UP": "../etc", "ON": "no",
	"SLASH": "/", "DOT": ".", "NL": "hush\nhush", "SECRET": "hush", "PUNCT": "--", "DELIM": "x/",
}

// look is environment, and more, as a lookup.
func look(more ...string) outcome.Lookup {
	return func(name string) (string, bool) {
		for i := 0; i < len(more); i += 2 {
			if more[i] == name {
				return more[i+1], true
			}
		}
		v, ok := environment[name]
		return v, ok
	}
}

// compile compiles text as batch@a-1.service of the system manager.
func compile(t *testing.T, text string, change ...func(*Context)) *Plan {
	t.Helper()
	ctx := Context{Registry: kinds(), Specifiers: expand.ForSystem("my-batch@a-1.service"), Env: look()}
	for _, c := range change {
		c(&ctx)
	}
	sections, _ := unitfile.Parse("p", []byte(text))
	return Compile(sections, ctx)
}

// result is a plan as a fixture writes it.
type result struct {
	Settings Settings
	Specs    []residue.Spec `json:",omitempty"`
	Skips    []Skip         `json:",omitempty"`
	Problems []string       `json:",omitempty"` // [step] position: text (hint) reason
}

// fixture writes a plan.
func fixture(t *testing.T, p *Plan) string {
	t.Helper()
	r := result{Settings: p.Settings, Specs: p.Specs, Skips: p.Skips}
	for i := range r.Specs {
		r.Specs[i].ID = "" // of the content, which is all there
	}
	for _, x := range p.Problems {
		r.Problems = append(r.Problems, fmt.Sprintf("[%s] %v (%s) %s", x.Step, x, x.Hint, x.Reason))
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "\t")
	if err := e.Encode(r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Every testdata/plans/NAME.plan compiles to NAME.json.
func TestPlans(t *testing.T) {
	files, err := filepath.Glob("testdata/plans/*.plan")
	if err != nil || len(files) == 0 {
		t.Fatalf("fixtures: %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".plan"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := fixture(t, compile(t, string(text)))
			golden(t, strings.TrimSuffix(file, ".plan")+".json", got)
			if strings.Contains(got, "hush") {
				t.Error("a secret value shows")
			}
		})
	}
}

// golden compares with a file, or writes it.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got\n%s", file, got)
	}
}

func TestReference(t *testing.T) { golden(t, "testdata/reference.md", Reference(kinds())) }

// The reference has every key of every table.
func TestReference_complete(t *testing.T) {
	page := Reference(kinds())
	want := append(optionKeys(settingKeys), optionKeys(commonKeys)...)
	for _, k := range kinds().Kinds() {
		want = append(want, knownKeys(k)...)
	}
	for _, key := range want {
		if !strings.Contains(page, "`"+key+"=`") {
			t.Errorf("%s= is not in the reference", key)
		}
	}
	for _, l := range expand.Letters() {
		if !strings.Contains(page, "`%"+string(rune(l.Letter))+"`") {
			t.Errorf("%%%c is not in the reference", l.Letter)
		}
	}
}
