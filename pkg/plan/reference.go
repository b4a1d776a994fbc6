package plan

import (
	_ "embed" // for the page's fixed parts
	"fmt"
	"strings"

	"job-cleanup/pkg/expand"
	"job-cleanup/pkg/residue"
)

//go:embed intro.md
var intro string

//go:embed expansion.md
var expansion string

// Reference returns the reference page of plans in Markdown: every section and
// key of the registry's kinds with type, default and example, from the same
// tables that Compile reads.
func Reference(reg *residue.Registry) string {
	var b strings.Builder
	b.WriteString(intro)
	b.WriteString("\n## [X-Cleanup]\n\nSettings of the whole cleanup; repeated sections are read as one.\n\n")
	optionTable(&b, settingKeys)
	b.WriteString("\n## Every step\n\n")
	optionTable(&b, commonKeys)
	b.WriteString("\nThe words of `When=`; any other result word of the service manager will do too:\n\n")
	table(&b, "word", "the job")
	for _, w := range whenWords {
		row(&b, code(w.word), w.doc)
	}
	for _, k := range reg.Kinds() {
		kindPage(&b, k)
	}
	b.WriteString("\n## Specifiers\n\nAs in systemd.unit(5). One without a value refuses the step.\n\n")
	table(&b, "specifier", "stands for")
	for _, l := range expand.Letters() {
		row(&b, code("%"+string(rune(l.Letter))), l.Doc)
	}
	row(&b, code("%%"), "a percent sign")
	b.WriteString("\n" + expansion)
	return b.String()
}

// kindPage writes the chapter of one kind.
func kindPage(b *strings.Builder, k *residue.Kind) {
	fmt.Fprintf(b, "\n## [%s]\n\n%s\n\nIt selects by:\n\n", title(k.Name), k.Doc)
	table(b, "key", "type", "phase", "`track` noun", "", "example")
	for _, s := range k.Selectors {
		noun := code(k.Noun(s))
		if s.NoTrack {
			noun = "–"
		}
		row(b, code(s.Key+"="+s.Front), s.Value.String(), phaseName(s.Phase), noun, s.Doc, example(s.Key, s.Example))
	}
	if len(k.Options) > 0 {
		b.WriteString("\nand takes, beside the keys of every step:\n\n")
		optionTable(b, k.Options)
	}
}

// optionTable writes a table of keys that select nothing.
func optionTable(b *strings.Builder, options []residue.Option) {
	table(b, "key", "type", "default", "", "example")
	for _, o := range options {
		kind := o.Value.String()
		if o.Many {
			kind += ", list"
		}
		row(b, code(o.Key+"="), kind, defaultOf(o), o.Doc, example(o.Key, o.Example))
	}
}

// defaultOf says where an option's default comes from.
func defaultOf(o residue.Option) string {
	env := o.Env
	if env != "" && o.Value == residue.SecretRef {
		env = "env:" + o.Env + "`, if set" // a reference to the variable, not its text
	} else if env != "" {
		env = "$" + env + "`"
	}
	switch {
	case env != "" && o.Default != "":
		return "`" + env + ", else " + code(o.Default)
	case env != "":
		return "`" + env
	case o.Default != "":
		return code(o.Default)
	}
	return "–"
}

// example writes a line of a plan.
func example(key, value string) string {
	if value == "" {
		return ""
	}
	return code(key + "=" + value)
}

// phaseName is the word for a phase.
func phaseName(p residue.Phase) string {
	names := [...]string{"", "processes", "data", "locks", "credentials"}
	if p < 0 || int(p) >= len(names) {
		return fmt.Sprint(int(p))
	}
	return names[p]
}

// table writes the head of a table.
func table(b *strings.Builder, columns ...string) {
	row(b, columns...)
	b.WriteString("|" + strings.Repeat("---|", len(columns)) + "\n")
}

// row writes one row; a bar in a cell is escaped.
func row(b *strings.Builder, cells ...string) {
	for _, c := range cells {
		b.WriteString("| " + strings.ReplaceAll(c, "|", `\|`) + " ")
	}
	b.WriteString("|\n")
}

// code marks text as code.
func code(text string) string { return "`" + text + "`" }
