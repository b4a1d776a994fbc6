package unitfile

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// planChecks look at what a plan says that compiles, and should not.
var planChecks = []check{
	{"not-a-service", Err, notAService,
		"a {} has no stop hook, so nothing runs this plan",
		"move the sections to the service that does the work"},
	{"publish", Warn, publishes,
		"{} hands something on: a cleanup may run twice, late, or after a failure",
		"do that at the end of the job itself, with ExecStartPost= or in its program"},
}

func notAService(f *Facts) []place {
	name, err := ParseName(f.Unit.Name)
	p := f.whole()
	return when(err == nil && name.Type != "service" && len(f.steps()) > 0, p.Entry, name.Type)
}

// publishing are commands that hand on a job's work, and words that stand in
// the names of such.
var (
	publishing = []string{
		"git push", "docker push", "podman push", "aws s3 cp", "aws s3 sync", "aws s3 mv", "rsync", "scp",
		"kubectl apply", "helm upgrade", "twine upload",
	}
	publishingWords = []string{"publish", "promote", "deploy"}
)

func publishes(f *Facts) []place {
	var out []place
	for _, s := range f.steps() {
		if !strings.EqualFold(s.Name, "X-Cleanup.Command") {
			continue
		}
		for _, e := range s.Entries {
			if what := handsOn(e.Value); e.Key == "Run" && what != "" {
				out = append(out, place{e, strconv.Quote(what)})
			}
		}
	}
	return out
}

// handsOn returns what of a command line hands something on, "" for nothing.
func handsOn(command string) string {
	words, _ := commandWords(strings.ToLower(command))
	for i, w := range words {
		words[i] = path.Base(w)
		parts := strings.FieldsFunc(words[i], func(r rune) bool { return strings.ContainsRune("-_. ", r) })
		for _, p := range parts {
			if slices.Contains(publishingWords, p) {
				return words[i]
			}
		}
	}
	line := strings.Join(words, " ") + " "
	i := slices.IndexFunc(publishing, func(p string) bool { return strings.Contains(" "+line, " "+p+" ") })
	if i < 0 {
		return ""
	}
	return publishing[i]
}
