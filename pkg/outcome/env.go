package outcome

import "strings"

// maxWord bounds what is kept of one variable; the manager's words are far
// shorter.
const maxWord = 256

// FromEnv reads how the job ended from SERVICE_RESULT, EXIT_CODE and
// EXIT_STATUS, or, in a handler unit, from MONITOR_SERVICE_RESULT and its
// like. The three are taken from one of the two families, never mixed. Where
// neither says anything the result is Unknown.
//
// Values are kept as they came, cut to 256 bytes: whoever prints one escapes
// it. They are no proof: a job that can write its unit's EnvironmentFile= can
// set each of these for its hook, since the manager puts that file last.
func FromEnv(env Lookup) Outcome {
	for _, names := range [][3]string{
		{"SERVICE_RESULT", "EXIT_CODE", "EXIT_STATUS"},
		{"MONITOR_SERVICE_RESULT", "MONITOR_EXIT_CODE", "MONITOR_EXIT_STATUS"},
	} {
		o := Outcome{Result: word(env, names[0]), Code: word(env, names[1]), Status: word(env, names[2])}
		if o.Result != "" {
			return o
		}
		if o.Code != "" {
			o.Result = fromCode(o)
			return o
		}
	}
	return Outcome{Result: Unknown}
}

// fromCode is the manager's result word for an exit kind that came without
// one, as a script may pass it on. An EXIT_STATUS alone says nothing: scripts
// use that name for their own ends.
func fromCode(o Outcome) string {
	switch {
	case o.Code == "exited" && o.Status == "0":
		return Success
	case o.Code == "exited" && o.Status != "":
		return "exit-code"
	case o.Code == "killed":
		return "signal"
	case o.Code == "dumped":
		return "core-dump"
	}
	return Unknown
}

// Matches reports whether the words of When= admit an outcome: "always",
// "success", "failure", or result words such as "timeout". No words mean
// always. A failure is whatever is no success, so that an end that nobody saw
// is not taken for a good one.
func Matches(words []string, o Outcome) bool {
	if len(words) == 0 {
		return true
	}
	for _, w := range words {
		switch {
		case w == "always", w == o.Result, w == "failure" && !o.Succeeded():
			return true
		}
	}
	return false
}

// word reads one variable, bounded. The copy lets go of a huge value.
func word(env Lookup, name string) string {
	value := get(env, name)
	if len(value) > maxWord {
		value = strings.Clone(value[:maxWord])
	}
	return value
}

// get reads one variable; unset and empty are the same.
func get(env Lookup, name string) string {
	if env == nil {
		return ""
	}
	value, _ := env(name)
	return value
}

// has reports whether a variable is there, be it empty.
func has(env Lookup, name string) bool {
	if env == nil {
		return false
	}
	_, ok := env(name)
	return ok
}
