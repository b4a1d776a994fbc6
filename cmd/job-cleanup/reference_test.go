package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"job-cleanup/pkg/residue"
)

const commandsPage = "../../docs/commands.md"

// TestCommandReference keeps the parts of the command reference that the
// program itself knows equal to what it knows. The rest is written by hand.
func TestCommandReference(t *testing.T) {
	raw, err := os.ReadFile(commandsPage)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for name, want := range map[string]string{
		"verbs": verbsPart(), "options": optionsPart(), "codes": codesPart(), "defaults": defaultsPart(),
	} {
		part := regexp.MustCompile(`(?s)(<!-- ` + name + `: [^\n]*-->\n)(.*)(<!-- end of ` + name + ` -->\n)`)
		found := part.FindStringSubmatch(text)
		if found == nil {
			t.Fatalf("%s has no part %q", commandsPage, name)
		}
		if found[2] != "\n"+want+"\n" && !*update {
			t.Errorf("the part %q of %s is not what the program says; go test ./cmd/job-cleanup -run TestCommandReference -update rewrites it", name, commandsPage)
		}
		text = strings.Replace(text, found[0], found[1]+"\n"+want+"\n"+found[3], 1)
	}
	if *update {
		if err := os.WriteFile(commandsPage, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// shared are the options that several verbs take, by what they say.
var shared = []struct {
	title    string
	register func(*pflag.FlagSet, *options)
}{
	{"Which job", whichJob},
	{"Which steps", whichSteps},
	{"Which folders", whichFolders},
}

// sharedGroup is the group that an option belongs to, -1 for one of the verb's
// own: of another name, or with another meaning.
func sharedGroup(flag *pflag.Flag) int {
	for i, group := range shared {
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		group.register(fs, &options{})
		if same := fs.Lookup(flag.Name); same != nil && same.Usage == flag.Usage {
			return i
		}
	}
	return -1
}

// visible are the verbs for people.
func visible() []*verb {
	var all []*verb
	for _, v := range verbs() {
		if !v.hidden {
			all = append(all, v)
		}
	}
	return all
}

// verbsPart is a chapter for each verb.
func verbsPart() string {
	var b strings.Builder
	for i, v := range visible() {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "### %s\n\n", strings.TrimSpace(v.name+" "+v.args))
		long, _, _ := strings.Cut(v.long, "\nKinds: ") // track's, which follow as a table
		b.WriteString(hang("", marked(long)))
		var rows strings.Builder
		groups := map[int][]string{}
		v.flags(&options{}).VisitAll(func(flag *pflag.Flag) {
			group := sharedGroup(flag)
			groups[group] = append(groups[group], "`--"+flag.Name+"`")
			switch {
			case group >= 0:
			case v.name != "track" || flag.Name == "forget":
				rows.WriteString(optionRow(flag))
			default:
				rows.WriteString(markRows(flag.Name))
			}
		})
		if rows.Len() > 0 {
			b.WriteString("\n| option | |\n|---|---|\n" + rows.String())
		}
		var also []string
		for i, group := range shared {
			if names := groups[i]; names != nil {
				also = append(also, group.title+": "+strings.Join(names, ", ")+".")
			}
		}
		if also != nil {
			b.WriteString("\n" + hang("", strings.Join(also, " ")))
		}
		if v.name == "track" {
			b.WriteString(trackPart())
		}
	}
	return b.String()
}

// trackPart says what the nouns of track are in a plan, and which options go
// with them.
func trackPart() string {
	var nouns, options strings.Builder
	nouns.WriteString("\nA KIND is what a key of the plan names, and REF is written as there:\n\n| kind | |\n|---|---|\n")
	options.WriteString("\nFurther options are keys of the same section; `--ca-cert` is `CACert=`:\n\n| kind | |\n|---|---|\n")
	for _, kind := range kinds().Kinds() {
		var names []string
		for _, sel := range kind.Selectors {
			if sel.NoTrack {
				continue
			}
			names = append(names, "`"+kind.Noun(sel)+"`")
			fmt.Fprintf(&nouns, "| `%s` | `%s` of `[X-Cleanup.%s]` |\n", kind.Noun(sel), sel.Key+"="+sel.Front, titled(kind.Name))
		}
		if keys := keyOptions(kind); names != nil && keys != nil {
			fmt.Fprintf(&options, "| %s | `--%s` |\n", strings.Join(names, ", "), strings.Join(keys, "`, `--"))
		}
	}
	return nouns.String() + options.String()
}

// keyOptions are the options that track takes for the keys of a kind: not
// those whose name says which job is meant.
func keyOptions(kind *residue.Kind) []string {
	taken := pflag.NewFlagSet("", pflag.ContinueOnError)
	whichJob(taken, &options{})
	var names []string
	for _, option := range kind.Options {
		if name := dashed(option.Key); taken.Lookup(name) == nil {
			names = append(names, name)
		}
	}
	return names
}

// markRows are the rows of an option of track that no key of a plan stands for,
// one for each thing that it means.
func markRows(name string) string {
	var docs []string
	of := map[string][]string{}
	for _, kind := range kinds().Kinds() {
		for _, sel := range kind.Selectors {
			for _, mark := range sel.Marks {
				if mark.Key == name {
					docs = append(docs, mark.Doc)
					of[mark.Doc] = append(of[mark.Doc], "`"+kind.Noun(sel)+"`")
				}
			}
		}
	}
	var b strings.Builder
	for _, doc := range slices.Compact(docs) {
		text := strings.ToLower(doc[:1]) + strings.TrimSuffix(doc[1:], ".")
		fmt.Fprintf(&b, "| `--%s VALUE` | of %s: %s |\n", name, strings.Join(of[doc], ", "), text)
	}
	return b.String()
}

// titled is a kind's name in a section.
func titled(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// optionsPart is a table for each group of shared options.
func optionsPart() string {
	var b strings.Builder
	for i, group := range shared {
		if i > 0 {
			b.WriteString("\n")
		}
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		fs.SortFlags = false
		group.register(fs, &options{})
		fmt.Fprintf(&b, "### %s\n\n| option | |\n|---|---|\n", group.title)
		fs.VisitAll(func(flag *pflag.Flag) { b.WriteString(optionRow(flag)) })
	}
	return b.String()
}

// optionRow is one option in a table.
func optionRow(flag *pflag.Flag) string {
	value, usage := pflag.UnquoteUsage(flag)
	option := "--" + flag.Name
	if flag.NoOptDefVal == "" {
		option += " " + value
	}
	usage = marked(strings.ReplaceAll(usage, "|", `\|`))
	if flag.DefValue != "" && flag.DefValue != "[]" && flag.DefValue != "false" {
		usage += " (`" + flag.DefValue + "`)"
	}
	return fmt.Sprintf("| `%s` | %s |\n", option, usage)
}

var codeWords = regexp.MustCompile(`(^|[\s(])('[^']+'|--[a-z][a-z-]*|[A-Z][A-Za-z]+=(?:-\+)?|\[X-Cleanup\])`)

// marked marks the code in a text for terminals.
func marked(text string) string {
	return codeWords.ReplaceAllStringFunc(text, func(found string) string {
		before := found[:len(found)-len(strings.TrimLeft(found, " \t\n("))]
		return before + "`" + strings.Trim(found[len(before):], "'") + "`"
	})
}

// codesPart is the table of exit codes.
func codesPart() string {
	var b strings.Builder
	b.WriteString("| status | |\n|---|---|\n")
	for _, row := range exitTable {
		fmt.Fprintf(&b, "| `%d` | %s |\n", row.code, marked(row.text))
	}
	return b.String()
}

// defaultsPart is the table of variables that kinds take defaults from.
func defaultsPart() string {
	var b strings.Builder
	b.WriteString("| variable | |\n|---|---|\n")
	for _, kind := range kinds().Kinds() {
		for _, option := range kind.Options {
			if option.Env != "" {
				fmt.Fprintf(&b, "| `%s` | `%s=` of `[X-Cleanup.%s]` |\n", option.Env, option.Key, titled(kind.Name))
			}
		}
	}
	return b.String()
}
