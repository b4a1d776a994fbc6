package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/spf13/pflag"

	"job-cleanup/pkg/plan"
	"job-cleanup/pkg/residue"
)

const completionsFolder = "../../packaging/completions"

// TestCompletions keeps the shells' completions equal to the program's options.
func TestCompletions(t *testing.T) {
	for _, name := range []string{"job-cleanup.bash", "_job-cleanup", "job-cleanup.fish"} {
		made, err := template.New(name).Funcs(shellWords).ParseFiles(filepath.Join("testdata/completions", name))
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		if err := made.Execute(&want, newCompletion()); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(completionsFolder, name)
		if *update {
			if err := os.WriteFile(file, want.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%s is not what the options say (%v); go test ./cmd/job-cleanup -run TestCompletions -update rewrites it", file, err)
		}
	}
}

// completion is what the templates in testdata/completions see.
type completion struct {
	Verbs      []completedVerb
	TrackFlags []completedFlag // without those of one noun
	Nouns      []completedNoun
	NounFlags  []nounFlag // the same by option
	FileNouns  []string   // whose references are files
	Takes      []taking
	Words      []wordList
}

type completedVerb struct {
	Name, Short string
	Flags       []completedFlag
	Arguments   []string // as zsh's _arguments has them
}

type completedFlag struct {
	Name, Value, Doc, What string // What is "" for a switch
	Repeats                bool
}

type completedNoun struct {
	Name, Doc  string
	Own, Flags []completedFlag // its own, and with those of all nouns
}

type nounFlag struct {
	Flag  completedFlag
	Nouns []string
}

// taking lists the "VERB --OPTION" that take one sort of value, * for any verb.
type taking struct {
	What  string
	Words []string
}

type wordList struct {
	What  string
	Words []string
}

// valuesOf are the sorts of values that options have by their names, whatever
// the verb; "anything" is one that nobody can guess.
var valuesOf = map[string]string{
	"unit": "unit", "plan": "file", "log-file": "file", "metrics-file": "file", "html": "file", "binary": "file",
	"state-dir": "folder", "runtime-dir": "folder", "output": "folder", "root": "folder",
	"skip": "step", "only": "step", "result": "result", "run-as": "user", "calendar": "calendar",
	"since": "time", "until": "time", "holder": "holder", "ssl-mode": "ssl",
}

// lists are the words of the sorts that have some.
func lists() []wordList {
	var verbNames, kindNames, nounNames []string
	for _, v := range visible() {
		verbNames = append(verbNames, v.name)
	}
	for _, kind := range kinds().Kinds() {
		kindNames = append(kindNames, kind.Name)
	}
	nounNames = nouns()
	verbNames = append(verbNames, "help")
	return []wordList{
		{"start", strings.Fields("--help --version")},
		{"verb", verbNames},
		{"noun", nounNames},
		{"generated", []string{"unit", "timer", "dropin"}},
		{"step", kindNames},
		{"result", resultWords()},
		{"calendar", strings.Fields("minutely hourly daily weekly monthly quarterly semiannually yearly")},
		{"time", strings.Fields("now today yesterday")},
		{"yesno", strings.Fields("yes no")},
		{"holder", strings.Fields("auto pid flock")},
		{"ssl", strings.Fields("disable allow prefer require verify-ca verify-full")},
		{"secret", strings.Fields("file: env: credential: stash:")},
	}
}

// resultWords are those of the reference page.
func resultWords() []string {
	_, rest, _ := strings.Cut(plan.Reference(kinds()), "| word | the job |")
	table, _, _ := strings.Cut(rest, "\n\n")
	var words []string
	for _, found := range regexp.MustCompile("(?m)^\\| `([a-z-]+)`").FindAllStringSubmatch(table, -1) {
		if found[1] != "always" {
			words = append(words, found[1])
		}
	}
	return words
}

func newCompletion() completion {
	c := completion{Words: lists()}
	for _, v := range visible() {
		verb := completedVerb{Name: v.name, Short: v.short, Arguments: zshArguments[v.name]}
		v.flags(&options{}).VisitAll(func(flag *pflag.Flag) {
			verb.Flags = append(verb.Flags, completed(flag, valuesOf[flag.Name]))
		})
		if v.name == "track" {
			c.track(verb.Flags)
		}
		c.Verbs = append(c.Verbs, verb)
	}
	c.Verbs = append(c.Verbs, completedVerb{Name: "help", Short: "the list of verbs, or the help of one"})
	for i, verb := range c.Verbs {
		if verb.Name == "track" {
			c.Verbs[i].Flags = c.TrackFlags
		}
	}
	c.takes()
	return c
}

// completed is an option as the shells need it.
func completed(flag *pflag.Flag, what string) completedFlag {
	value, doc := pflag.UnquoteUsage(flag)
	f := completedFlag{Name: flag.Name, Doc: strings.TrimPrefix(doc, value+": ")}
	f.Repeats = flag.Value.Type() == "stringArray" || flag.Value.Type() == "stringSlice"
	if flag.NoOptDefVal == "" {
		f.What, f.Value = what, value
		if what == "" {
			f.What = "anything"
		}
	}
	return f
}

// track sorts the options of track by what is tracked.
func (c *completion) track(all []completedFlag) {
	own := map[string]bool{}
	for _, kind := range kinds().Kinds() {
		for _, sel := range kind.Selectors {
			if sel.NoTrack {
				continue
			}
			key := strings.TrimSuffix(sel.Key+"="+sel.Front, ":")
			noun := completedNoun{Name: kind.Noun(sel), Doc: key + " of X-Cleanup." + titled(kind.Name)}
			noun.Own = ownFlags(kind, sel)
			for _, flag := range noun.Own {
				own[flag.Name] = true
				c.nounFlag(flag, noun.Name)
			}
			c.Nouns = append(c.Nouns, noun)
			if strings.Contains(" path path-mount lockfile aws-cache ", " "+noun.Name+" ") {
				c.FileNouns = append(c.FileNouns, noun.Name)
			}
		}
	}
	for _, flag := range all {
		if !own[flag.Name] {
			c.TrackFlags = append(c.TrackFlags, flag)
		}
	}
	for i := range c.Nouns {
		c.Nouns[i].Flags = slices.Concat(c.TrackFlags, c.Nouns[i].Own)
	}
}

// ownFlags are the options of track for one noun.
func ownFlags(kind *residue.Kind, sel residue.Selector) []completedFlag {
	var flags []completedFlag
	for _, mark := range sel.Marks {
		doc := strings.TrimSuffix(mark.Doc, ".")
		flags = append(flags, completedFlag{Name: mark.Key, Value: "VALUE", Doc: doc, What: "anything", Repeats: true})
	}
	keys := keyOptions(kind)
	for _, option := range kind.Options {
		name := dashed(option.Key)
		what := map[residue.Value]string{
			residue.Path: "file", residue.Glob: "file", residue.Bool: "yesno", residue.SecretRef: "secret",
		}[option.Value]
		if word := valuesOf[name]; word != "" {
			what = word
		} else if what == "" {
			what = "anything"
		}
		if slices.Contains(keys, name) {
			flags = append(flags, completedFlag{Name: name, Value: "VALUE", Doc: option.Key + "= of the plan", What: what, Repeats: option.Many})
		}
	}
	return flags
}

// nounFlag adds a noun to an option that others may have too.
func (c *completion) nounFlag(flag completedFlag, noun string) {
	for i, other := range c.NounFlags {
		if other.Flag == flag {
			c.NounFlags[i].Nouns = append(other.Nouns, noun)
			return
		}
	}
	c.NounFlags = append(c.NounFlags, nounFlag{flag, []string{noun}})
}

// takes lists what follows each option. One that is the same for all verbs that
// have it stands there once.
func (c *completion) takes() {
	sorts := map[string]map[string]string{} // option, verb
	add := func(verb string, flags []completedFlag) {
		for _, flag := range flags {
			if sorts[flag.Name] == nil {
				sorts[flag.Name] = map[string]string{}
			}
			sorts[flag.Name][verb] = flag.What
		}
	}
	for _, verb := range c.Verbs {
		add(verb.Name, verb.Flags)
	}
	for _, noun := range c.Nouns {
		add("track", noun.Own)
	}
	of := map[string][]string{}
	for option, verbs := range sorts {
		words := map[string]bool{}
		for _, what := range verbs {
			words[what] = true
		}
		for verb, what := range verbs {
			if len(words) == 1 {
				verb = "*"
			}
			if word := verb + " --" + option; what != "" && !slices.Contains(of[what], word) {
				of[what] = append(of[what], word)
			}
		}
	}
	for what, words := range of {
		slices.Sort(words)
		c.Takes = append(c.Takes, taking{what, words})
	}
	slices.SortFunc(c.Takes, func(a, b taking) int { return strings.Compare(a.What, b.What) })
}
