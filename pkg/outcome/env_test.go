package outcome

import (
	"strings"
	"testing"
)

// env makes a Lookup of NAME=value words.
func env(words ...string) Lookup {
	vars := map[string]string{}
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		vars[name] = value
	}
	return func(name string) (string, bool) {
		value, ok := vars[name]
		return value, ok
	}
}

func TestFromEnv(t *testing.T) {
	tests := []struct {
		name string
		env  Lookup
		want Outcome
	}{
		{"success", env("SERVICE_RESULT=success", "EXIT_CODE=exited", "EXIT_STATUS=0"), Outcome{"success", "exited", "0"}},
		{"exit 3", env("SERVICE_RESULT=exit-code", "EXIT_CODE=exited", "EXIT_STATUS=3"), Outcome{"exit-code", "exited", "3"}},
		{"killed", env("SERVICE_RESULT=signal", "EXIT_CODE=killed", "EXIT_STATUS=KILL"), Outcome{"signal", "killed", "KILL"}},
		{"skipped by its condition", env("SERVICE_RESULT=exec-condition"), Outcome{Result: ExecCondition}},
		{"a word of tomorrow", env("SERVICE_RESULT=eaten-by-bear", "EXIT_CODE=eaten", "EXIT_STATUS=BEAR"), Outcome{"eaten-by-bear", "eaten", "BEAR"}},
		{"handler", env("MONITOR_SERVICE_RESULT=timeout", "MONITOR_EXIT_CODE=killed", "MONITOR_EXIT_STATUS=TERM"), Outcome{"timeout", "killed", "TERM"}},
		{"hook of a handler", env("SERVICE_RESULT=success", "MONITOR_SERVICE_RESULT=timeout", "MONITOR_EXIT_CODE=killed"), Outcome{Result: "success"}},
		{"code 0 without result", env("EXIT_CODE=exited", "EXIT_STATUS=0"), Outcome{"success", "exited", "0"}},
		{"code 1 without result", env("EXIT_CODE=exited", "EXIT_STATUS=1"), Outcome{"exit-code", "exited", "1"}},
		{"signal without result", env("EXIT_CODE=killed", "EXIT_STATUS=TERM"), Outcome{"signal", "killed", "TERM"}},
		{"dump without result", env("EXIT_CODE=dumped", "EXIT_STATUS=SEGV"), Outcome{"core-dump", "dumped", "SEGV"}},
		{"code without status", env("EXIT_CODE=exited"), Outcome{Unknown, "exited", ""}},
		{"strange code", env("EXIT_CODE=7"), Outcome{Unknown, "7", ""}},
		{"status alone", env("EXIT_STATUS=1"), Outcome{Result: Unknown}},
		{"control bytes", env("SERVICE_RESULT=a\nb\x1b[31m"), Outcome{Result: "a\nb\x1b[31m"}},
		{"huge", env("SERVICE_RESULT=" + strings.Repeat("x", 1<<20)), Outcome{Result: strings.Repeat("x", maxWord)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := FromEnv(tt.env); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// A failed ExecStartPre= leaves only SERVICE_RESULT; a person's shell nothing.
func TestCase14_onlyServiceResult(t *testing.T) {
	only := FromEnv(env("SERVICE_RESULT=exit-code"))
	if only != (Outcome{Result: "exit-code"}) || only.Succeeded() {
		t.Errorf("only SERVICE_RESULT: got %q", only)
	}
	for name, e := range map[string]Lookup{"nothing": env(), "empty": env("SERVICE_RESULT=", "EXIT_CODE="), "no lookup": nil} {
		if got := FromEnv(e); got != (Outcome{Result: Unknown}) || got.Succeeded() {
			t.Errorf("%s: got %q, want unknown", name, got)
		}
	}
}

func TestMatches(t *testing.T) {
	tests := []struct {
		words  string
		result string
		want   bool
	}{
		{"", "success", true}, {"", "lost", true}, {"always", "unknown", true},
		{"success", "success", true}, {"success", "exit-code", false}, {"success", "unknown", false}, {"success", "lost", false},
		{"failure", "success", false}, {"failure", "exit-code", true}, {"failure", "unknown", true}, {"failure", "lost", true}, {"failure", "new-word", true},
		{"timeout oom-kill", "timeout", true}, {"timeout oom-kill", "oom-kill", true}, {"timeout oom-kill", "signal", false},
		{"timeout success", "success", true}, {"lost", "lost", true}, {"lost", "unknown", false}, {"Success", "success", false},
	}
	for _, tt := range tests {
		if got := Matches(strings.Fields(tt.words), Outcome{Result: tt.result}); got != tt.want {
			t.Errorf("When=%s, result %q: got %v", tt.words, tt.result, got)
		}
	}
}
