package test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// onlyCmd are the functions by which a program looks at its environment or
// speaks to people. A library that calls one surprises its caller.
var onlyCmd = map[string][]string{
	"os":  {"Getenv", "LookupEnv", "Environ", "ExpandEnv", "Setenv", "Unsetenv", "Clearenv", "Exit", "Stdin", "Stdout", "Stderr", "Args"},
	"fmt": {"Print", "Printf", "Println"},
	"log": {"Print", "Printf", "Println", "Fatal", "Fatalf", "Fatalln", "Panic", "Panicf", "Panicln"},
}

// eachSource parses every source file of the product, tests aside.
func eachSource(t *testing.T, do func(p goPackage, set *token.FileSet, file *ast.File)) {
	t.Helper()
	for _, p := range product(t) {
		for _, name := range p.GoFiles {
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.ParseComments)
			if err != nil {
				t.Errorf("%v", err)
				continue
			}
			do(p, set, file)
		}
	}
}

// TestLibrariesAreQuiet: only cmd reads the environment, prints and exits, and
// it exits in one place.
func TestLibrariesAreQuiet(t *testing.T) {
	exits := 0
	eachSource(t, func(p goPackage, set *token.FileSet, file *ast.File) {
		for _, use := range worldly(file) {
			switch {
			case !strings.HasPrefix(p.name(), "cmd/"):
				t.Errorf("%v: %s belongs into cmd", set.Position(use.Pos()), use.Sel.Name)
			case use.Sel.Name == "Exit":
				exits++
			}
		}
	})
	if exits != 1 {
		t.Errorf("os.Exit is called in %d places, want 1: main", exits)
	}
}

// worldly lists the uses of onlyCmd in a file.
func worldly(file *ast.File) []*ast.SelectorExpr {
	var uses []*ast.SelectorExpr
	ast.Inspect(file, func(node ast.Node) bool {
		use, ok := node.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if pkg, ok := use.X.(*ast.Ident); ok && pkg.Obj == nil && slices.Contains(onlyCmd[pkg.Name], use.Sel.Name) {
			uses = append(uses, use)
		}
		return true
	})
	return uses
}

func TestWorldlyIsFound(t *testing.T) {
	source := `package p
import ("fmt"; "os")
func f() { fmt.Println(os.Getenv("HOME")); _ = fmt.Sprint(1); os.Exit(1) }`
	file, err := parser.ParseFile(token.NewFileSet(), "", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	if uses := worldly(file); len(uses) != 3 {
		t.Errorf("found %d uses, want 3", len(uses))
	}
}

// TestPackageComments: each package says what it is, in one file.
func TestPackageComments(t *testing.T) {
	comments := map[string]int{}
	eachSource(t, func(p goPackage, _ *token.FileSet, file *ast.File) {
		n := comments[p.name()]
		if file.Doc != nil {
			n++
			if want := opening(file.Name.Name, p.name()); !strings.HasPrefix(file.Doc.Text(), want) {
				t.Errorf("%s: its comment begins %.40q, want %q", p.name(), file.Doc.Text(), want)
			}
		}
		comments[p.name()] = n
	})
	for name, n := range comments {
		if n != 1 {
			t.Errorf("%s has %d package comments, want 1", name, n)
		}
	}
}

func opening(pkg, path string) string {
	if pkg == "main" {
		return "Command " + filepath.Base(path)
	}
	return "Package " + pkg
}

// TestExportedNamesAreExplained: constants and variables may share the comment
// of their group, everything else has its own.
func TestExportedNamesAreExplained(t *testing.T) {
	eachSource(t, func(_ goPackage, set *token.FileSet, file *ast.File) {
		for _, name := range unexplained(file) {
			t.Errorf("%v: %s has no comment", set.Position(name.Pos()), name.Name)
		}
	})
}

// unexplained lists the exported names of a file that have no comment.
func unexplained(file *ast.File) []*ast.Ident {
	var names []*ast.Ident
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if d.Doc == nil && d.Name.IsExported() && exportedReceiver(d) {
				names = append(names, d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				names = append(names, unexplainedSpec(d, spec)...)
			}
		}
	}
	return names
}

func unexplainedSpec(group *ast.GenDecl, spec ast.Spec) []*ast.Ident {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() && s.Doc == nil && (group.Doc == nil || group.Lparen.IsValid()) {
			return []*ast.Ident{s.Name}
		}
	case *ast.ValueSpec:
		if group.Doc == nil && s.Doc == nil && s.Comment == nil {
			return slices.DeleteFunc(slices.Clone(s.Names), func(n *ast.Ident) bool { return !n.IsExported() })
		}
	}
	return nil
}

// exportedReceiver is true for functions and for methods of exported types.
// The others satisfy an interface, which has the comment.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return true
	}
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if generic, ok := typ.(*ast.IndexExpr); ok {
		typ = generic.X
	}
	name, ok := typ.(*ast.Ident)
	return ok && name.IsExported()
}

func TestUnexplainedIsFound(t *testing.T) {
	source := `package p
type A int
// B is explained.
type B int
func (a A) C() {}
func (b b) D() {}
// The group.
const ( E = 1 )
var F, g = 1, 2
`
	file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, name := range unexplained(file) {
		got = append(got, name.Name)
	}
	if want := "A C F"; strings.Join(got, " ") != want {
		t.Errorf("found %s, want %s", fmt.Sprint(got), want)
	}
}
