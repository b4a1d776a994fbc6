package outcome

import "strings"

// statusVariables hold the job's status, by the CI platform that runs it.
// GitLab sets its own in after_script; the others have the status in an
// expression only, which the pipeline hands in.
var statusVariables = map[string]string{
	"github":  "JOB_STATUS",
	"gitlab":  "CI_JOB_STATUS",
	"jenkins": "JOB_STATUS",
}

// FromCI reads how the job of a CI platform ended, in the platform's word. The
// platform is the CI of an Identity. Without a status, or with one that is no
// ending, the result is Unknown.
func FromCI(platform string, env Lookup) Outcome {
	name, known := statusVariables[platform]
	if !known {
		return Outcome{Result: Unknown}
	}
	o, ok := FromWord(word(env, name))
	if !ok || o.Result == "running" { // GitLab's, before after_script
		return Outcome{Result: Unknown}
	}
	return o
}

// FromWord makes an outcome of a word that a person or a platform has for it:
// "success", "cancelled", "UNSTABLE", "NOT_BUILT". It is not ok for what is no
// such word. Result words are lower-case and have dashes, so that When= can
// name them; "canceled" is one word with "cancelled".
func FromWord(text string) (o Outcome, ok bool) {
	result := strings.ReplaceAll(strings.ToLower(text), "_", "-")
	if result == "canceled" {
		result = "cancelled"
	}
	if result == "" || len(result) > maxWord {
		return Outcome{}, false
	}
	for i := range len(result) {
		c := result[i]
		if (c < 'a' || c > 'z') && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return Outcome{}, false
		}
	}
	return Outcome{Result: result}, true
}
