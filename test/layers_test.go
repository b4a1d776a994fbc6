// Package test keeps rules of the whole module that no single package can
// keep: who may import whom, and who may look at the world.
package test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "job-cleanup/"

// layers are the packages from the bottom up. A package may import what stands
// in a row above its own, and nothing beside or below it.
var layers = [][]string{
	{"pkg/secret", "pkg/outcome"},
	{"pkg/residue", "pkg/expand", "pkg/beneath"},
	{"pkg/unitfile", "pkg/manager", "pkg/manager/managertest", "pkg/journal", "pkg/ledger"},
	{"pkg/plan"},
	{"pkg/engine", "pkg/clean/*"},
	{"pkg/clean/all"},
	{"cmd/*"},
}

// sideways are the imports within a row that are meant.
var sideways = map[string][]string{
	"pkg/secret":  {"pkg/outcome"}, // for the shape of an environment look-up
	"pkg/expand":  {"pkg/residue"},
	"pkg/beneath": {"pkg/residue"},

	"pkg/manager/managertest": {"pkg/manager"},
}

// kindMay is all of this module that a kind may import; unit alone has the
// manager as its client.
var kindMay = []string{"pkg/residue", "pkg/secret", "pkg/outcome", "pkg/expand", "pkg/beneath"}

// goPackage is a part of what go list -json prints.
type goPackage struct {
	ImportPath, Dir string
	Imports         []string
	GoFiles         []string
}

// name is the import path without the module.
func (p goPackage) name() string { return strings.TrimPrefix(p.ImportPath, module) }

// product lists the packages of cmd and pkg.
func product(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Imports,GoFiles", "./cmd/...", "./pkg/...")
	cmd.Dir = ".."
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []goPackage
	for decoder := json.NewDecoder(strings.NewReader(string(output))); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

// layer returns the row of a package, -1 for one that is in none.
func layer(name string) int {
	for row, names := range layers {
		if slices.Contains(names, name) {
			return row
		}
	}
	parent := name[:max(strings.LastIndexByte(name, '/'), 0)] + "/*"
	for row, names := range layers {
		if slices.Contains(names, parent) {
			return row
		}
	}
	return -1
}

// forbidden says why a package may not import another of this module, "" if
// it may.
func forbidden(from, to string) string {
	low, high := layer(to), layer(from)
	switch {
	case high < 0:
		return "its package is in no layer"
	case low < 0:
		return "the imported package is in no layer"
	case low > high, low == high && !slices.Contains(sideways[from], to):
		return "imports point downwards only"
	}
	isKind := strings.HasPrefix(from, "pkg/clean/") && from != "pkg/clean/all" && from != "pkg/clean/cleantest"
	if isKind && !slices.Contains(kindMay, to) && (from != "pkg/clean/unit" || to != "pkg/manager") {
		return "a kind imports the contract and its own client"
	}
	return ""
}

func TestImportsPointDownwards(t *testing.T) {
	packages := product(t)
	if len(packages) < 10 {
		t.Fatalf("only %d packages found", len(packages))
	}
	for _, p := range packages {
		if layer(p.name()) < 0 {
			t.Errorf("%s is in no layer", p.name())
		}
		for _, imported := range p.Imports {
			to, ours := strings.CutPrefix(imported, module)
			if !ours {
				continue
			}
			if why := forbidden(p.name(), to); why != "" {
				t.Errorf("%s imports %s: %s", p.name(), to, why)
			}
		}
	}
}

// TestForbidden shows that the rule above can fail.
func TestForbidden(t *testing.T) {
	tests := []struct {
		from, to string
		allowed  bool
	}{
		{"pkg/residue", "pkg/secret", true},
		{"pkg/residue", "pkg/plan", false},
		{"pkg/expand", "pkg/residue", true},
		{"pkg/residue", "pkg/expand", false},
		{"pkg/secret", "pkg/outcome", true},
		{"pkg/outcome", "pkg/secret", false},
		{"pkg/plan", "pkg/unitfile", true},
		{"pkg/ledger", "pkg/journal", false},
		{"pkg/engine", "pkg/clean/path", false},
		{"pkg/clean/path", "pkg/beneath", true},
		{"pkg/clean/path", "pkg/manager", false},
		{"pkg/clean/unit", "pkg/manager", true},
		{"pkg/clean/unit", "pkg/ledger", false},
		{"pkg/clean/path", "pkg/clean/lockfile", false},
		{"pkg/clean/all", "pkg/clean/path", true},
		{"pkg/clean/all", "pkg/unknown", false},
		{"cmd/job-cleanup", "pkg/engine", true},
	}
	for _, test := range tests {
		if why := forbidden(test.from, test.to); (why == "") != test.allowed {
			t.Errorf("%s imports %s: %q", test.from, test.to, why)
		}
	}
}
