package command

import (
	"errors"
	"strings"
	"testing"

	"job-cleanup/pkg/residue"
)

// calls keeps each Write apart.
type calls []string

func (c *calls) Write(p []byte) (int, error) {
	*c = append(*c, string(p))
	return 0, errors.New("a writer that fails")
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", maxLine+5)
	tests := []struct{ in, want []string }{
		{nil, nil},
		{[]string{"a\nb\n"}, []string{"a\n", "b\n"}},
		{[]string{"a", "b", "\n", "\n"}, []string{"ab\n", "\n"}},
		{[]string{"no end"}, []string{"no end\n"}},
		{[]string{long, "\nz"}, []string{long[:maxLine] + "\n", "xxxxx\n", "z\n"}},
	}
	for _, tt := range tests {
		var got calls
		l := &lines{to: &got}
		for _, s := range tt.in {
			if n, err := l.Write([]byte(s)); n != len(s) || err != nil {
				t.Errorf("write %.20q: %d, %v", s, n, err)
			}
		}
		l.flush()
		l.flush()
		if strings.Join(got, "|") != strings.Join(tt.want, "|") {
			t.Errorf("%.20q came as %.60q, want %.60q", tt.in, got, tt.want)
		}
	}
}

func TestLinesAreBounded(t *testing.T) {
	for name, text := range map[string]string{"many": "x\n", "wide": strings.Repeat("y", 1000) + "\n"} {
		var got calls
		l := &lines{to: &got}
		for range 3 * maxLines {
			_, _ = l.Write([]byte(text))
		}
		l.flush()
		all := strings.Join(got, "")
		if len(got) > maxLines+1 || len(all) > maxBytes+len(truncated) || got[len(got)-1] != truncated {
			t.Errorf("%s: %d lines, %d bytes, the last is %q", name, len(got), len(all), got[len(got)-1])
		}
		if strings.Count(all, truncated) != 1 || len(got) < 60 {
			t.Errorf("%s: %d lines, truncated %d times", name, len(got), strings.Count(all, truncated))
		}
	}
}

// TestEndlessOutput: a command that prints more than is kept still ends well.
func TestEndlessOutput(t *testing.T) {
	out, err := run(t, step(`/bin/sh -c 'i=0; while [ $i -lt 3000 ]; do echo line $i; echo err >&2; i=$((i+1)); done'`), residue.Deps{Env: env()})
	if err == nil || out != "" {
		t.Fatalf("$i is no variable with braces: %v", err)
	}
	out, err = run(t, step(`/bin/sh -c 'i=0; while [ $$i -lt 3000 ]; do echo line $$i; echo err >&2; i=$$((i+1)); done'`), residue.Deps{Env: env()})
	if err != nil || !strings.HasPrefix(out, "line 0\nerr\nline 1\n") || !strings.HasSuffix(out, truncated) {
		t.Errorf("%v, printed %.40q", err, out)
	}
	c, err := Kind.Open(step("/usr/bin/seq 100000"), residue.Deps{Env: env()})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Remove(t.Context(), residue.Residue{}); err != nil {
		t.Errorf("nobody listens: %v", err)
	}
}
