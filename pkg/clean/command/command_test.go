package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"job-cleanup/pkg/clean/cleantest"
	"job-cleanup/pkg/outcome"
	"job-cleanup/pkg/residue"
)

const canary = "pw-canary-9Zk"

// env is an environment of a hook.
func env(pairs ...string) outcome.Lookup {
	return func(name string) (string, bool) {
		for _, p := range pairs {
			if n, v, _ := strings.Cut(p, "="); n == name {
				return v, true
			}
		}
		return "", false
	}
}

// step is a spec of a command line with KEY=VALUE options.
func step(line string, options ...string) residue.Spec {
	s := residue.Spec{Kind: "command", Selector: "Run", Value: line, Options: map[string][]string{}}
	for _, o := range options {
		key, value, _ := strings.Cut(o, "=")
		s.Options[key] = append(s.Options[key], value)
	}
	return s
}

// run opens, finds and removes; the output is what was printed.
func run(t *testing.T, spec residue.Spec, deps residue.Deps) (output string, err error) {
	t.Helper()
	var out bytes.Buffer
	deps.Output = &out
	c, err := Kind.Open(spec, deps)
	if err != nil {
		return "", err
	}
	found, err := c.Find(context.Background())
	if err != nil || len(found) != 1 {
		t.Fatalf("find: %v, %v", found, err)
	}
	err = c.Remove(context.Background(), found[0])
	return out.String(), err
}

func TestConformance(t *testing.T) {
	dir := t.TempDir()
	n := 0
	cleantest.Run(t, cleantest.Subject{
		Kind:  Kind,
		Blind: true,
		Spec:  func(ref string) residue.Spec { return step("/bin/rm -rf "+ref, "Environment=TOKEN=x") },
		Make: func(t testing.TB) string {
			n++
			path := filepath.Join(dir, fmt.Sprintf("tree-%d", n))
			if err := os.Mkdir(path, 0o755); err != nil {
				t.Fatal(err)
			}
			return path
		},
		Exists: func(_ testing.TB, ref string) bool { _, err := os.Stat(ref); return err == nil },
		Remove: func(_ testing.TB, ref string) { _ = os.RemoveAll(ref) },
		Decoy: func(t testing.TB, ref string) func() error {
			if err := os.Mkdir(ref+"0", 0o755); err != nil {
				t.Fatal(err)
			}
			return func() error { _, err := os.Stat(ref + "0"); return err }
		},
		Is:      func(residue.Residue, string) bool { return true },
		Deps:    func(testing.TB) residue.Deps { return residue.Deps{Env: env("SECRET=" + canary)} },
		Secrets: []string{canary},
	})
}

func TestOpenRefuses(t *testing.T) {
	tests := []struct {
		name   string
		spec   residue.Spec
		env    outcome.Lookup
		class  residue.Class
		reason residue.Reason
	}{
		{"empty", step(""), env(), residue.Refused, residue.Other},
		{"empty program", step(`"" x`), env(), residue.Refused, residue.Other},
		{"open quote", step(`/bin/echo "x`), env(), residue.Refused, residue.Other},
		{"relative", step("bin/x"), env(), residue.Refused, residue.Other},
		{"dots", step("../x"), env(), residue.Refused, residue.Other},
		{"prefix of a unit", step("-/bin/false"), env(), residue.Refused, residue.Other},
		{"unset", step("/bin/echo ${NONE}"), env(), residue.Refused, residue.Unset},
		{"empty value", step("/bin/echo ${NONE}"), env("NONE="), residue.Refused, residue.Unset},
		{"no environment", step("/bin/echo ${NONE}"), nil, residue.Retry, residue.Unset},
		{"no environment to pass", step("/bin/true", "PassEnvironment=A"), nil, residue.Retry, residue.Unset},
		{"no environment to add", step("/bin/true", "Environment=A=${B}"), nil, residue.Retry, residue.Unset},
		{"no name", step("/bin/true", "PassEnvironment=A=B"), env(), residue.Refused, residue.Other},
		{"no pair", step("/bin/true", "Environment=A"), env(), residue.Refused, residue.Other},
		{"no pair but a number", step("/bin/true", "Environment=1A=x"), env(), residue.Refused, residue.Other},
		{"status", step("/bin/true", "SuccessExitStatus=1 256"), env(), residue.Refused, residue.Other},
		{"folder", step("/bin/true", "WorkingDirectory=tmp"), env(), residue.Refused, residue.Other},
		{"tracked", residue.Spec{Value: "/bin/true", Tracked: &residue.Residue{}}, env(), residue.Refused, residue.Other},
	}
	for _, tt := range tests {
		_, err := Kind.Open(tt.spec, residue.Deps{Env: tt.env})
		if e := residue.AsError(err); e == nil || e.Class != tt.class || e.Reason != tt.reason {
			t.Errorf("%s: %v, want class %d, reason %s", tt.name, err, tt.class, tt.reason)
		}
	}
}

func TestEndings(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/plain", []byte("#!/bin/sh\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, line string
		options    []string
		reason     residue.Reason // "" means removed
		text       string         // stands in the error
	}{
		{"good", "/bin/true", nil, "", ""},
		{"looked up", "true", nil, "", ""},
		{"status", "/bin/sh -c 'exit 3'", nil, residue.Other, "status 3"},
		{"status that is fine", "/bin/sh -c 'exit 3'", []string{"SuccessExitStatus=1 3", "SuccessExitStatus=4"}, "", ""},
		{"another status", "/bin/sh -c 'exit 2'", []string{"SuccessExitStatus=1 3"}, residue.Other, "status 2"},
		{"signal", "/bin/sh -c 'kill -SEGV $$$$'", []string{"SuccessExitStatus=139"}, residue.Other, "SIGSEGV"},
		{"not there", "/nowhere/x", nil, residue.Other, "no such file"},
		{"not in the search path", "no-such-program-here", nil, residue.Other, searchPath},
		{"not executable", dir + "/plain", nil, residue.Permission, "permission denied"},
		{"folder not there", "/bin/true", []string{"WorkingDirectory=" + dir + "/none"}, residue.Other, "working directory"},
		{"folder is none", "/bin/true", []string{"WorkingDirectory=" + dir + "/plain"}, residue.Other, "not a directory"},
	}
	for _, tt := range tests {
		_, err := run(t, step(tt.line, tt.options...), residue.Deps{Env: env()})
		e := residue.AsError(err)
		if tt.reason == "" {
			if e != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		if e == nil || e.Class != residue.Retry || e.Reason != tt.reason || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v, want owed as %s with %q", tt.name, err, tt.reason, tt.text)
		}
	}
}

// TestWordsStayWords is about what a shell would do to the line and we don't.
func TestWordsStayWords(t *testing.T) {
	deps := residue.Deps{Env: env("FILES=a b  c", "GLOB=*", "SHELL_TEXT=$(id); `id` | x > y & z ${FILES} %n")}
	out, err := run(t, step(`/usr/bin/printf [%%s]\n ${FILES} "${GLOB}" * ; | > /x && $(id) '${SHELL_TEXT}' "a  b" x${FILES}y ${NONE:-d}`), deps)
	if err != nil {
		t.Fatal(err)
	}
	want := "[a b  c]\n[*]\n[*]\n[;]\n[|]\n[>]\n[/x]\n[&&]\n[$(id)]\n[$(id); `id` | x > y & z ${FILES} %n]\n[a  b]\n[xa b  cy]\n[d]\n"
	if out != want {
		t.Errorf("arguments are\n%s\nwant\n%s", out, want)
	}
}

func TestEnvironmentIsClean(t *testing.T) {
	t.Setenv("JOB_CLEANUP_TEST_CANARY", canary) // of our own process
	deps := residue.Deps{
		Env: env("LD_PRELOAD="+canary, "A=1", "B=two words", "TOKEN="+canary),
		Job: residue.Job{Unit: "batch@1.service", Invocation: "abc", Outcome: outcome.Outcome{Result: "exit-code", Code: "exited", Status: "3"}},
	}
	out, err := run(t, step("/usr/bin/env", "PassEnvironment=B NONE", `Environment="C=c d" LANG=C D=${A}`, "Environment=E=%%$$"), deps)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"PATH=" + searchPath, "LANG=C", "JOB_CLEANUP_UNIT=batch@1.service", "JOB_CLEANUP_INVOCATION=abc",
		"SERVICE_RESULT=exit-code", "EXIT_CODE=exited", "EXIT_STATUS=3", "B=two words", "C=c d", "D=1", "E=%$"}
	got := map[string]bool{}
	for line := range strings.Lines(out) {
		got[strings.TrimSuffix(line, "\n")] = true
	}
	for _, w := range want {
		if !got[w] {
			t.Errorf("%s is missing", w)
		}
		delete(got, w)
	}
	for rest := range got {
		if !strings.HasPrefix(rest, "HOME=/") {
			t.Errorf("the command sees %s", rest)
		}
	}
}

func TestOutcomeWithoutMainProcess(t *testing.T) {
	deps := residue.Deps{Env: env(), Job: residue.Job{Outcome: outcome.Outcome{Result: "resources"}}}
	out, err := run(t, step("/usr/bin/env"), deps)
	if err != nil || strings.Contains(out, "EXIT_") || !strings.Contains(out, "SERVICE_RESULT=resources\n") {
		t.Errorf("environment is\n%s%v", out, err)
	}
}

func TestFolderAndInput(t *testing.T) {
	dir := t.TempDir()
	out, err := run(t, step("/bin/sh -c 'pwd -P; wc -c'", "WorkingDirectory="+dir), residue.Deps{Env: env()})
	if real, _ := filepath.EvalSymlinks(dir); err != nil || out != real+"\n0\n" {
		t.Errorf("printed %q, %v", out, err)
	}
	if out, err := run(t, step("/bin/pwd"), residue.Deps{Env: env()}); err != nil || out != "/\n" {
		t.Errorf("without WorkingDirectory=: %q, %v", out, err)
	}
}

// TestSecretsStayInside looks for an expanded value in everything that is
// recorded or said.
func TestSecretsStayInside(t *testing.T) {
	deps := residue.Deps{Env: env("TOKEN="+canary, "PROGRAM=/nowhere/"+canary, "BAD=pw-canary")}
	specs := []residue.Spec{
		step("/bin/sh -c 'exit 1' ${TOKEN}"),
		step("/nowhere/x ${TOKEN}"),
		step("${PROGRAM}"),
		step("${TOKEN}"),
		step("/bin/sleep 60 ${TOKEN}"),
		step("/bin/true", "Environment=${TOKEN}"),
		step("/bin/true ${TOKEN} ${NONE}"),
	}
	for _, spec := range specs {
		spec.Timeout = 50 * time.Millisecond
		c, err := Kind.Open(spec, deps)
		if err == nil {
			found, _ := c.Find(context.Background())
			if text := fmt.Sprintf("%+v", found); strings.Contains(text, canary) {
				t.Errorf("%q: the residue is %s", spec.Value, text)
			}
			err = c.Remove(context.Background(), found[0])
		}
		if err == nil || strings.Contains(err.Error(), canary) || strings.Contains(fmt.Sprintf("%+v", residue.AsError(err)), canary) {
			t.Errorf("%q: %v", spec.Value, err)
		}
	}
}

func TestResidueIsOfTheStep(t *testing.T) {
	ref := func(spec residue.Spec, e outcome.Lookup) string {
		c, err := Kind.Open(spec, residue.Deps{Env: e})
		if err != nil {
			t.Fatal(err)
		}
		found, err := c.Find(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return found[0].Ref
	}
	a := ref(step("/bin/echo ${A}"), env("A=1"))
	if b := ref(step("/bin/echo ${A}"), env("A=2")); a != b {
		t.Errorf("the value of a variable changed the residue: %s, %s", a, b)
	}
	if b := ref(step("/bin/echo ${A} "), env("A=1")); a == b {
		t.Errorf("two lines are one residue: %s", a)
	}
	if !strings.HasPrefix(a, "/bin/echo#") {
		t.Errorf("the residue is called %s", a)
	}
}

func TestCancelledBeforeItBegan(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made")
	c, err := Kind.Open(step("/usr/bin/touch "+path), residue.Deps{Env: env()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	e := residue.AsError(c.Remove(ctx, residue.Residue{}))
	if _, err := os.Stat(path); e == nil || e.Reason != residue.Cancelled || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("cancelled: %v, %v", e, err)
	}
}
