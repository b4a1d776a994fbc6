package plan

import (
	"slices"

	"job-cleanup/pkg/residue"
)

// settingKeys are the keys of [X-Cleanup].
var settingKeys = []residue.Option{
	{Key: "TimeoutSec", Value: residue.Span,
		Doc:     "Time for the whole cleanup. Without it: two thirds of the unit's TimeoutStopSec=, else 60 s. A hook without an end would hold up the manager, so neither 0 nor infinity.",
		Example: "60"},
	{Key: "ExitPolicy", Value: residue.String, Default: "lenient",
		Doc:     "`strict`: `run` exits with 1 when something is owed or refused. `lenient`: with 0.",
		Example: "strict"},
	{Key: "MaxJobSec", Value: residue.Span, Default: "1d",
		Doc:     "Where no manager can tell whether a job still runs (CI, containers), it counts as over after this time. `infinity`: never by age.",
		Example: "6h"},
	{Key: "Reset", Value: residue.Bool, Default: "no",
		Doc:     "In a drop-in: forget all settings and steps that came before.",
		Example: "yes"},
}

// commonKeys are the keys that every step takes.
var commonKeys = []residue.Option{
	{Key: "Name", Value: residue.String,
		Doc:     "The step's name for `--skip`, `--only` and the journal, once per plan. Default: the kind; `path-2` for the second of a kind.",
		Example: "scratch"},
	{Key: "When", Value: residue.String, Many: true, Default: "always",
		Doc:     "The outcomes the step is for; several words mean any of them.",
		Example: "timeout oom-kill"},
	{Key: "TimeoutSec", Value: residue.Span, Default: "infinity",
		Doc:     "Time for this step, within that of the whole cleanup.",
		Example: "10s"},
	{Key: "Enabled", Value: residue.Bool, Default: "yes",
		Doc:     "`no` switches the step off.",
		Example: "${REVOKE_CRED:-yes}"},
}

// isCommon reports whether every step takes the key.
func isCommon(key string) bool {
	_, ok := optionOf(commonKeys, key)
	return ok
}

// optionOf finds a row of a table.
func optionOf(table []residue.Option, key string) (residue.Option, bool) {
	for _, o := range table {
		if o.Key == key {
			return o, true
		}
	}
	return residue.Option{}, false
}

// optionKeys lists the keys of a table.
func optionKeys(table []residue.Option) []string {
	var keys []string
	for _, o := range table {
		keys = append(keys, o.Key)
	}
	return keys
}

// selectorKeys lists the keys that select something.
func selectorKeys(k *residue.Kind) []string {
	var keys []string
	for _, s := range k.Selectors {
		if !slices.Contains(keys, s.Key) {
			keys = append(keys, s.Key)
		}
	}
	return keys
}

// knownKeys lists all keys of a kind's section.
func knownKeys(k *residue.Kind) []string {
	return append(append(selectorKeys(k), optionKeys(k.Options)...), optionKeys(commonKeys)...)
}

// word is one word of When=.
type word struct{ word, doc string }

// whenWords are the words of When= that are known: our own, then the result
// words of systemd.exec(5). Others are taken too unless they look like a
// misspelling, since the manager's list grows.
var whenWords = []word{
	{"always", "however it ended"},
	{"success", "it ended well"},
	{"failure", "anything else, `lost` and `unknown` included"},
	{"lost", "nobody saw the end: power loss, or the hook never ran"},
	{"unknown", "nobody told: the cleanup was run by hand"},
	{"exit-code", "it exited with a status that is no success"},
	{"signal", "a signal ended it"},
	{"core-dump", "a signal ended it, with a core dump"},
	{"timeout", "a time limit was hit"},
	{"oom-kill", "it ran out of memory"},
	{"watchdog", "its watchdog was not fed"},
	{"protocol", "it broke its service protocol"},
	{"resources", "the manager could not set it up"},
	{"exec-condition", "ExecCondition= said no"},
	{"start-limit-hit", "it was started too often"},
	{"cancelled", "somebody cancelled the CI job"},
	{"aborted", "somebody aborted the CI job, in Jenkins' word"},
	{"unstable", "the CI job's tests failed, in Jenkins' word"},
}
