package main

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"job-cleanup/pkg/plan"
	"job-cleanup/pkg/residue"
)

var update = flag.Bool("update", false, "rewrite the pages, completions and pictures that are made from the program")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"job-cleanup": main})
}

// TestScripts runs the scripts in testdata, one for each behaviour of the
// command line. Each has a folder below a base of its own, $WORK.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"complains": complains},
	})
}

// complains runs a command that has something to say to a person: with this
// exit code, an error that matches the first pattern, and a next step that
// matches the second. All else on stderr has the same shape.
func complains(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: complains CODE ERROR HINT COMMAND [ARGUMENT]...")
	}
	code := "0"
	if err := ts.Exec(args[3], args[4:]...); err != nil {
		code = strings.TrimPrefix(err.Error(), "exit status ")
	}
	said := ts.ReadFile("stderr")
	if code != args[0] {
		ts.Fatalf("ended with %s, want %s; it said %q", code, args[0], said)
	}
	if !regexp.MustCompile(`^(job-cleanup: .+\nhint: .+\n)+$`).MatchString(said) {
		ts.Fatalf("not errors with a next step each: %q", said)
	}
	if !regexp.MustCompile(`(?m)^job-cleanup: .*` + args[1] + `.*\nhint: .*` + args[2]).MatchString(said) {
		ts.Fatalf("%q does not say %q, nor %q as the next step", said, args[1], args[2])
	}
}

// TestPlanReference keeps the reference page of plans equal to the tables of
// the kinds.
func TestPlanReference(t *testing.T) {
	const page = "../../docs/plan.md"
	want := plan.Reference(kinds())
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the kinds' tables say; go test ./cmd/job-cleanup -run TestPlanReference -update rewrites it", page)
	}
}

// TestHelpFitsTerminals checks the help of all verbs for lines that wrap.
func TestHelpFitsTerminals(t *testing.T) {
	for _, v := range append(verbs(), nil) {
		var out strings.Builder
		p := &program{stdout: &out}
		if v == nil {
			p.help(nil)
		} else {
			p.verbHelp(v)
		}
		for line := range strings.Lines(out.String()) {
			if len(strings.TrimRight(line, "\n")) > width {
				t.Errorf("over %d columns: %q", width, line)
			}
		}
	}
}

// useKinds lets the program know these kinds only, until the test ends.
func useKinds(t *testing.T, only ...*residue.Kind) {
	t.Helper()
	replacement.Store(residue.NewRegistry(only...))
	t.Cleanup(func() { replacement.Store(nil) })
}
