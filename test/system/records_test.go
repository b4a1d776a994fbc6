package system_test

import (
	"testing"

	"job-cleanup/pkg/journal"
	"job-cleanup/pkg/outcome"
	"job-cleanup/test/rig"
)

// records returns the unit's journal records of one event.
func records(m *rig.Machine, unit string, event journal.Event) []rig.Entry {
	return m.Journal("JOB_CLEANUP_UNIT="+unit, "JOB_CLEANUP_EVENT="+string(event))
}

// wantSummary fails unless the unit has exactly one summary, of this outcome,
// and returns it.
func wantSummary(t *testing.T, m *rig.Machine, unit string, how outcome.Outcome) rig.Entry {
	t.Helper()
	found := records(m, unit, journal.Summary)
	if len(found) != 1 {
		t.Errorf("%s has %d summaries, want 1; all its records: %v", unit, len(found), said(m, unit))
		return rig.Entry{}
	}
	wantFields(t, found[0], rig.Entry{
		"MESSAGE_ID":     journal.Summary.MessageID(),
		"SERVICE_RESULT": how.Result,
		"EXIT_CODE":      how.Code,
		"EXIT_STATUS":    how.Status,
	})
	if found[0]["JOB_CLEANUP_INVOCATION"] == "" || found[0]["MESSAGE"] == "" || found[0]["PRIORITY"] == "" {
		t.Errorf("%s: fields are missing: %v", unit, found[0])
	}
	return found[0]
}

// wantFields fails unless each field has its value, "" for not there.
func wantFields(t *testing.T, entry rig.Entry, want rig.Entry) {
	t.Helper()
	for name, value := range want {
		if entry[name] != value {
			t.Errorf("%s of %q is %q, want %q", name, entry["MESSAGE"], entry[name], value)
		}
	}
}

// wantRecord fails unless the unit has exactly one record of the event, kind
// and, if it is not "", reference, and returns it.
func wantRecord(t *testing.T, m *rig.Machine, unit string, event journal.Event, kind, ref string) rig.Entry {
	t.Helper()
	var found []rig.Entry
	for _, entry := range records(m, unit, event) {
		if entry["JOB_CLEANUP_KIND"] == kind && (ref == "" || entry["JOB_CLEANUP_REF"] == ref) {
			found = append(found, entry)
		}
	}
	if len(found) != 1 {
		t.Errorf("%s: %d records %s of %s %q, want 1; all: %v", unit, len(found), event, kind, ref, said(m, unit))
		return rig.Entry{}
	}
	wantFields(t, found[0], rig.Entry{"MESSAGE_ID": event.MessageID(), "JOB_CLEANUP_STATUS": string(event)})
	return found[0]
}

// said lists the messages of all of a unit's records, for failures.
func said(m *rig.Machine, unit string) []string {
	var messages []string
	for _, entry := range m.Journal("JOB_CLEANUP_UNIT=" + unit) {
		messages = append(messages, entry["JOB_CLEANUP_EVENT"]+": "+entry["MESSAGE"])
	}
	return messages
}
