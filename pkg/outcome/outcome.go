// Package outcome tells how a job ended and which job it was, as pure
// functions of an environment lookup.
//
// The words are the service manager's own: SERVICE_RESULT, EXIT_CODE and
// EXIT_STATUS of systemd.exec(5), or their MONITOR_ twins in a handler unit.
// Words that this package does not know are kept as they came, since the list
// grows with every systemd release.
package outcome

// Lookup reads one environment variable, in the shape of os.LookupEnv.
type Lookup func(name string) (value string, ok bool)

// Result words that this program itself gives a meaning to.
const (
	Success       = "success"
	Unknown       = "unknown"        // somebody ran the cleanup by hand: nobody told
	Lost          = "lost"           // nobody saw the end: power loss, a hook that never ran
	ExecCondition = "exec-condition" // the job was skipped by its own condition: nothing ran
)

// Outcome is how a job ended.
type Outcome struct {
	Result string `json:"result"`                // SERVICE_RESULT: success, exit-code, signal, timeout, oom-kill, …
	Code   string `json:"exit_code,omitempty"`   // EXIT_CODE: exited, killed, dumped; empty when no main process was known
	Status string `json:"exit_status,omitempty"` // EXIT_STATUS: a number, or a signal name without SIG
}

// Succeeded reports whether the job ended well.
func (o Outcome) Succeeded() bool { return o.Result == Success }
