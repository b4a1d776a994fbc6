package unitfile

import (
	"path/filepath"
	"slices"
	"strings"
)

// program is the name of the command that a hook calls.
const program = "job-cleanup"

// verbs are the words that may stand behind it; without one it is "run".
var verbs = []string{"run", "arm", "track", "sweep", "plan", "status", "history", "check", "generate", "exec"}

// Hook is a line of a service that calls job-cleanup.
type Hook struct {
	Entry           // the assignment, with its place
	Prefix   string // the characters before the command: "-", "+", "!", ":", "@" and "|", as written
	Command  string // the program that the manager starts
	Verb     string // "run" where none is given
	Indirect bool   // Command is another program, a shell or a wrapper, that calls job-cleanup in its turn
}

// Hooks returns the ExecStartPre= and ExecStopPost= lines of a service that
// call job-cleanup, in the order in which they stand there.
func Hooks(u *Unit) []Hook {
	var out []Hook
	for _, key := range []string{"ExecStartPre", "ExecStopPost"} {
		for _, e := range u.entries("Service", key) {
			if h, ok := hook(e); ok {
				out = append(out, h)
			}
		}
	}
	return out
}

// hook reads one line. A word that holds blanks, as behind "sh -c", is looked
// into.
func hook(e Entry) (Hook, bool) {
	prefix, command := execPrefix(e.Value)
	words, _ := commandWords(command)
	if len(words) == 0 {
		return Hook{}, false
	}
	h := Hook{Entry: e, Prefix: prefix, Command: words[0], Verb: "run"}
	flat := strings.Fields(strings.Join(words, " "))
	at := slices.IndexFunc(flat, func(w string) bool { return filepath.Base(w) == program })
	if at < 0 {
		return Hook{}, false
	}
	h.Indirect = filepath.Base(h.Command) != program
	for _, w := range flat[at+1:] {
		if slices.Contains(verbs, w) {
			h.Verb = w
			break
		}
	}
	return h, true
}

// execPrefix cuts off the characters of systemd.service(5) that may stand
// before a command.
func execPrefix(value string) (prefix, command string) {
	command = strings.TrimLeft(value, "@-:+!|")
	return value[:len(value)-len(command)], command
}
