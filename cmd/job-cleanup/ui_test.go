package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/outcome"
)

// Nobody is told that something is wrong without a next step: who warns or
// makes an error of usage gives one, and no other text goes to stderr.
func TestErrorsHaveNextSteps(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			text, _ := call.Args[0].(*ast.BasicLit)
			to, _ := call.Args[0].(*ast.SelectorExpr)
			switch called := nameOf(call.Fun); {
			case called == "warn" || called == "usagef":
				calls++
				if text != nil && len(text.Value) < len(`"a step"`) {
					t.Errorf("%v: %s without a next step", set.Position(call.Pos()), called)
				}
			case strings.HasPrefix(called, "Fprint") && to != nil && to.Sel.Name == "stderr" && name != "ui.go":
				t.Errorf("%v: text for people is made in ui.go", set.Position(call.Pos()))
			}
			return true
		})
	}
	if calls < 40 {
		t.Errorf("only %d calls were seen", calls)
	}
}

// nameOf is the last name of what is called.
func nameOf(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.Ident:
		return of.Name
	case *ast.SelectorExpr:
		return of.Sel.Name
	}
	return ""
}

func TestNextStep(t *testing.T) {
	at := func(err error) error { return &fs.PathError{Op: "open", Path: "/srv/x", Err: err} }
	for name, test := range map[string]struct {
		uid  int
		err  error
		want string
	}{
		"its own":       {0, fmt.Errorf("above: %w", usagef("write so", "wrong")), "write so"},
		"a unit's name": {0, outcome.CheckUnitName("a"), "batch@1.service"},
		"no hint":       {0, usagef("", "wrong"), lastResort},
		"not root":      {1000, at(fs.ErrPermission), "as root"},
		"root":          {0, at(unix.EACCES), "check UNIT"},
		"read-only":     {0, at(unix.EROFS), "ReadWritePaths=-/var/lib/job-cleanup"},
		"full":          {0, at(unix.ENOSPC), "df -h /srv/x"},
		"quota":         {0, unix.EDQUOT, "make room"},
		"missing":       {0, at(unix.ENOENT), "mkdir -p /srv makes"},
		"no folder":     {0, at(unix.ENOTDIR), "ls -ld /srv/x"},
		"a folder":      {0, at(unix.EISDIR), "/srv/x is a folder"},
		"untrusted":     {0, fmt.Errorf("x: %w", ledger.ErrUntrusted), "who made it"},
		"busy":          {0, ledger.ErrBusy, "try again"},
		"late":          {0, context.DeadlineExceeded, "try again"},
		"no journalctl": {0, unreadJournal(at(unix.ENOENT)), "job-cleanup status"},
		"journalctl":    {0, unreadJournal(errors.New("exit status 1: Failed to parse timestamp: never")), "systemd.time(7)"},
		"unknown":       {0, errors.New("what?"), lastResort},
	} {
		p := &program{uid: test.uid}
		if got := p.nextStep(test.err); !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// A journal that can't be read is an error with a next step too.
func TestUnreadJournal(t *testing.T) {
	var stderr strings.Builder
	p := &program{stdout: os.Stdout, stderr: &stderr}
	_, err := runHistory(t.Context(), p, &options{}, historyOptions{command: filepath.Join(t.TempDir(), "none")})
	if err == nil {
		t.Fatal("it was read")
	}
	if p.failed(nil, err); !strings.Contains(stderr.String(), "\nhint: without journalctl there is no history") {
		t.Errorf("it said %q", stderr.String())
	}
}
