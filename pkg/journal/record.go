// Package journal writes what a cleanup did as journal records and reads such
// records back.
//
// Records go out over the journal's native protocol, as lines on stderr where
// that is missing, and as JSON lines to a log file. All three carry the same
// fields. Records come in as the JSON that journalctl prints; they can be
// forged by any user of the machine, so ask Trusted before believing one.
package journal

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"job-cleanup/pkg/outcome"
)

// Record is one journal record. Fields with a zero value are left out.
type Record struct {
	Time     time.Time // of a record that was read, or "now" when it is zero
	Event    Event
	Priority Priority // 0 means the event's own
	Message  string   // for people; "" means a sentence made from the other fields

	Unit       string // the job's unit, or a CI platform's word for it
	Invocation string
	Step       string // the step's Name=
	Source     string // where the step stands: FILE:LINE, or "--step"
	Kind       string
	Done       string // of a Removed, the word for people: "stopped"; "" means "removed"
	Type       string // residue type
	Ref        string // the residue's reference, any bytes
	ResidueID  string
	Reason     string // a residue.Reason word
	Detail     string // the cause, for people
	Duration   time.Duration
	Attempt    int
	Count      int // how many residues this one record stands for; 0 means one

	Outcome outcome.Outcome // how the job ended, as the manager told it
	Counts  map[Event]int   // of a Summary: how many of each status
	// Survivors, of a Summary, is how many processes of the job still run.
	Survivors int

	// Extra are further fields, by name. A name that the journal would not
	// take, or that is used above, is dropped.
	Extra map[string]string
}

// The names of our fields.
const (
	prefix           = "JOB_CLEANUP_"
	fieldEvent       = prefix + "EVENT"
	fieldUnit        = prefix + "UNIT"
	fieldInvocation  = prefix + "INVOCATION"
	fieldStep        = prefix + "STEP"
	fieldSource      = prefix + "SOURCE"
	fieldKind        = prefix + "KIND"
	fieldType        = prefix + "TYPE"
	fieldRef         = prefix + "REF"
	fieldResidueID   = prefix + "RESIDUE_ID"
	fieldStatus      = prefix + "STATUS"
	fieldReason      = prefix + "REASON"
	fieldDetail      = prefix + "DETAIL"
	fieldDuration    = prefix + "DURATION_USEC"
	fieldAttempt     = prefix + "ATTEMPT"
	fieldCount       = prefix + "COUNT"
	fieldSurvivors   = prefix + "SURVIVORS"
	identifier       = "job-cleanup"
	fieldIdentifier  = "SYSLOG_IDENTIFIER"
	fieldMessage     = "MESSAGE"
	fieldMessageID   = "MESSAGE_ID"
	fieldPriority    = "PRIORITY"
	fieldResult      = "SERVICE_RESULT"
	fieldExitCode    = "EXIT_CODE"
	fieldExitStatus  = "EXIT_STATUS"
	fieldObjectUnit  = "OBJECT_SYSTEMD_UNIT"
	fieldRealtime    = "__REALTIME_TIMESTAMP"
	longestFieldName = 64 // what journald takes
)

// countField is the field of a summary that counts one status:
// JOB_CLEANUP_LOST_OWNERSHIP for "lost-ownership".
func countField(status Event) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(string(status), "-", "_"))
}

// Fields returns the record as journal fields, by name. MESSAGE has its
// control bytes escaped; all other values are the raw ones.
func (r Record) Fields() map[string]string {
	fields := map[string]string{
		fieldMessage:    Escape(r.sentence()),
		fieldPriority:   r.level().String(),
		fieldIdentifier: identifier,
		fieldEvent:      string(r.Event),
	}
	for name, value := range r.texts() {
		if *value != "" {
			fields[name] = *value
		}
	}
	for name, value := range r.numbers() {
		if *value != 0 {
			fields[name] = strconv.Itoa(*value)
		}
	}
	if id := r.Event.MessageID(); id != "" {
		fields[fieldMessageID] = id
	}
	if slices.Contains(statuses, r.Event) {
		fields[fieldStatus] = string(r.Event)
	}
	if r.Duration > 0 {
		fields[fieldDuration] = strconv.FormatInt(r.Duration.Microseconds(), 10)
	}
	for status, n := range r.Counts {
		fields[countField(status)] = strconv.Itoa(n)
	}
	addExtra(fields, r.Extra)
	return fields
}

// texts are the record's plain text fields, for both directions.
func (r *Record) texts() map[string]*string {
	return map[string]*string{
		fieldUnit: &r.Unit, fieldInvocation: &r.Invocation, fieldStep: &r.Step, fieldSource: &r.Source,
		fieldKind: &r.Kind, fieldType: &r.Type, fieldRef: &r.Ref, fieldResidueID: &r.ResidueID,
		fieldReason: &r.Reason, fieldDetail: &r.Detail,
		fieldResult: &r.Outcome.Result, fieldExitCode: &r.Outcome.Code, fieldExitStatus: &r.Outcome.Status,
	}
}

// numbers are the record's plain numbers, for both directions.
func (r *Record) numbers() map[string]*int {
	return map[string]*int{fieldAttempt: &r.Attempt, fieldCount: &r.Count, fieldSurvivors: &r.Survivors}
}

// addExtra adds what is neither invalid nor taken. The journal library reports
// invalid names on stderr but sends them all the same, and one invalid name
// makes journald drop fields.
func addExtra(fields, extra map[string]string) {
	for name, value := range extra {
		if _, taken := fields[name]; !taken && validName(name) {
			fields[name] = value
		}
	}
}

// validName reports whether journald takes a field of this name from a client:
// upper-case letters, digits and underscores, beginning with a letter, at most
// 64 bytes.
func validName(name string) bool {
	if name == "" || len(name) > longestFieldName || name[0] < 'A' || name[0] > 'Z' {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return true
}
