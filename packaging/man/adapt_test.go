package main

import (
	"strings"
	"testing"
)

var trial = page{"plan.md", "job-trial", 5, "a trial"}

func TestAdapt(t *testing.T) {
	for name, c := range map[string]struct{ page, want string }{
		"the text before the first heading is the description": {
			"<!-- made -->\n# Trial\n\nOne.\n\n## Next part\n\nTwo.\n",
			"\n## DESCRIPTION\n\nOne.\n\n## NEXT PART\n\nTwo.\n",
		},
		"a page that begins with a heading has its own": {"# Trial\n\n## Synopsis\n\nOne.\n", "\n## SYNOPSIS\n\nOne.\n"},
		"a plan's section keeps its case":               {"## [X-Cleanup.S3]\n", "## [X-Cleanup.S3]\n"},
		"code is left alone": {
			"## A\n\n`[a](b.md)` and `ls(1)`\n\n```sh\n| a |\n# no(1)\n```\n",
			"## A\n\n`[a](b.md)` and `ls(1)`\n\n```sh\n| a |\n# no(1)\n```\n",
		},
		"links are references, texts, or stay": {
			"## A\n\n[x](plan.md), [The sweep](sweep.md), [y](https://example.org/), ls(1)\n",
			"## A\n\n**job-cleanup-plan**(5), The sweep, [y](https://example.org/), **ls**(1)\n",
		},
		"a link may go over the end of a line": {"## A\n\n* [all the\n  rules](safety.md) and\n  `[no\n  link](b.md)`\n", "## A\n\n* all the\n  rules and\n  `[no\n  link](b.md)`\n"},
		"of two columns the second is the text": {
			"## A\n\n| key | means |\n|---|---|\n| `a` | b \\| c |\n",
			"## A\n\n`a`\n: b | c\n\n",
		},
		"of more columns the nameless one is, facts and an example follow": {
			"## A\n\n| key | type | default | | example |\n|---|---|---|---|---|\n| `A=` | path | `x` | What. | `A=/b` |\n| `B=` | name | – | That. | |\n",
			"## A\n\n`A=`\n: What.  \n    Type: path; default: `x`  \n    Example: `A=/b`\n\n`B=`\n: That.  \n    Type: name\n\n",
		},
	} {
		got := trial.adapt(c.page, foot{"1", "2026-01-02"})
		head, body, _ := strings.Cut(got, "a trial\n\n")
		if want := "# JOB-TRIAL 5 \"2026-01-02\" \"job-cleanup 1\" \"job-cleanup\"\n\n## NAME\n\njob-trial - "; head != want {
			t.Errorf("%s: head %q, want %q", name, head, want)
		}
		if strings.TrimLeft(body, "\n") != strings.TrimLeft(c.want, "\n") {
			t.Errorf("%s:\n got %q\nwant %q", name, body, c.want)
		}
	}
}

func TestMend(t *testing.T) {
	const head = ".TH X\n"
	for name, c := range map[string]struct{ roff, want string }{
		"code in text":         {"a-b \\fB--x 'y' ~`^\\fR", "a-b \\fB\\-\\-x \\(aqy\\(aq \\(ti\\(ga\\(ha\\fR"},
		"examples are set off": {"a\n\n.EX\n--x\n.EE\n\nb", "a\n.PP\n.RS 4\n.EX\n\\-\\-x\n.EE\n.RE\nb"},
		"blank lines go":       {"a\n\n\n.PP\nb", "a\n.PP\nb"},
		"ASCII alone":          {"…–’", `\[u2026]\[u2013]\[u2019]`},
		"a table": {
			".TP\n\\fBa\\fR\none\n\n.TP\n\\fBlong\\fR\ntwo\n\n.TP\nc\nthree\n.PP\nd",
			".TP 6\n\\fBa\\fR\none\n.PD 0\n.TP 6\n\\fBlong\\fR\ntwo\n.TP 6\nc\nthree\n.PD\n.PP\nd",
		},
		"too wide for a table":     {wide, strings.ReplaceAll(wide, "\n\n", "\n")},
		"more than a line of text": {".TP\na\none\n.TP\nb\ntwo\n.TP\nc\nthree\n.br\nmore\n", ".TP\na\none\n.TP\nb\ntwo\n.TP\nc\nthree\n.br\nmore\n"},
		"too few for a table":      {".TP\na\none\n.TP\nb\ntwo\n.PP\n", ".TP\na\none\n.TP\nb\ntwo\n.PP\n"},
	} {
		if got := mend(head + c.roff); got != head+c.want {
			t.Errorf("%s:\n got %q\nwant %q", name, got, head+c.want)
		}
	}
}

var wide = ".TP\na\none\n\n.TP\nb\n" + strings.Repeat("text ", 16) + "\n\n.TP\nc\nthree\n.PP\n"
