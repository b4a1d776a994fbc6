package journal

import "strconv"

// Event is what a record tells. Every event has a MESSAGE_ID of its own that
// never changes, so that people can filter on it with journalctl.
type Event string

// The events. The first seven are what became of one residue, or of a step as
// a whole, and are also the words of JOB_CLEANUP_STATUS.
const (
	Removed       Event = "removed"
	Absent        Event = "absent"
	Owed          Event = "owed"
	Refused       Event = "refused"
	Skipped       Event = "skipped"
	LostOwnership Event = "lost-ownership"
	NotRevocable  Event = "not-revocable"

	Summary       Event = "summary"        // a cleanup is over: one record each, with the counts
	Unrecorded    Event = "unrecorded"     // the ledger could not be written
	Armed         Event = "armed"          // a job's specs were recorded before it began
	Tracked       Event = "tracked"        // a job added residue to its ledger
	Forgotten     Event = "forgotten"      // a job took residue back
	LedgerDamaged Event = "ledger-damaged" // a ledger was set aside
	CommandOutput Event = "command-output" // a line that a cleanup command printed
	Problem       Event = "problem"        // a mistake in a plan
)

// Priority is a syslog level. Its zero value means the event's own.
type Priority int

// The levels in use. Those above an error are not ours to give.
const (
	Err     Priority = 3
	Warning Priority = 4
	Notice  Priority = 5
	Info    Priority = 6
	Debug   Priority = 7
)

// events holds what is fixed for each event. The ids are random and must stay
// as they are: people have them in their filters.
var events = map[Event]struct {
	id       string
	priority Priority
}{
	Removed:       {"e2a4f236c09f4ca7982b065e65a7c404", Info},
	Absent:        {"2b2930c2a8d14d6fbf0454701e14c078", Info},
	Owed:          {"858e453a413d480eb41da080cb057165", Warning},
	Refused:       {"c4cb9af86a054fd7af36a072d2c6ee6b", Err},
	Skipped:       {"90968054eaba4883861b2e9130ed50c1", Debug},
	LostOwnership: {"aadfc8d5cdcc45b2955f7ee8948d434c", Notice},
	NotRevocable:  {"59d021a22fd547e29bc503df625e307f", Notice},
	Summary:       {"7e354e78858c45328a118742fb1d6aad", Info},
	Unrecorded:    {"f53dc7bd9cc948a08ff80e211afef838", Warning},
	Armed:         {"fe944f8fc5e54318b7c313a3e753583c", Info},
	Tracked:       {"35c6873d44314df2bb67ab743653b9a2", Info},
	Forgotten:     {"7441eebe107c47d2bc3552d5d07543e9", Info},
	LedgerDamaged: {"29b1541f638d40faa62bc1c16482e16a", Err},
	CommandOutput: {"ddddc0f95cfb4e9dbe453d1ac9503cf8", Info},
	Problem:       {"d679e33e585348adb3cfb195f008c4f0", Err},
}

// MessageID is the event's fixed MESSAGE_ID, 32 hexadecimal digits; "" for an
// event that is not in the list.
func (e Event) MessageID() string { return events[e].id }

// statuses are the events that say what became of residue, in the order in
// which a summary counts them.
var statuses = []Event{Removed, Absent, Owed, Refused, LostOwnership, NotRevocable, Skipped}

// level is the priority that a record is sent with.
func (r Record) level() Priority {
	if r.Priority > 0 && r.Priority <= Debug {
		return r.Priority
	}
	if r.Event == Summary && (r.Counts[Owed] > 0 || r.Counts[Refused] > 0) {
		return Warning
	}
	if known, ok := events[r.Event]; ok {
		return known.priority
	}
	return Notice
}

// String is the number that journalctl -p takes.
func (p Priority) String() string { return strconv.Itoa(int(p)) }
