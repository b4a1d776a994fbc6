package journal

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const catalog = "../../packaging/job-cleanup.catalog"

// safeFields hold no control bytes in our records. journalctl -x prints
// them as they are: a file's name would reach the terminal unescaped.
var safeFields = []string{fieldUnit, fieldInvocation, fieldReason}

// catalogEntry is what the catalog says of one message id.
type catalogEntry struct{ header, body string }

func readCatalog(t *testing.T) map[string]catalogEntry {
	t.Helper()
	text, err := os.ReadFile(catalog)
	if err != nil {
		t.Fatal(err)
	}
	entries := map[string]catalogEntry{}
	for _, part := range strings.Split("\n"+string(text), "\n-- ")[1:] {
		id, rest, _ := strings.Cut(part, "\n")
		header, body, ok := strings.Cut(rest, "\n\n")
		if _, twice := entries[id]; twice || !ok {
			t.Errorf("%q: written twice, or without a body", id)
		}
		entries[id] = catalogEntry{header, strings.TrimSpace(body)}
	}
	return entries
}

// journalctl -x has something to say about each record, and about nothing else.
func TestCatalog_everyEvent(t *testing.T) {
	entries := readCatalog(t)
	for event := range events {
		if _, ok := entries[event.MessageID()]; !ok {
			t.Errorf("%s: nothing about %s", event, event.MessageID())
		}
		delete(entries, event.MessageID())
	}
	for id := range entries {
		t.Errorf("%q is no event's", id)
	}
}

func TestCatalog_entries(t *testing.T) {
	field := regexp.MustCompile(`@([^@\n]*)@`)
	for id, e := range readCatalog(t) {
		for _, line := range []string{"Subject: ", "Defined-By: job-cleanup", "Documentation: man:job-cleanup"} {
			if !strings.Contains("\n"+e.header, "\n"+line) {
				t.Errorf("%s: no line %q", id, line)
			}
		}
		for _, match := range field.FindAllStringSubmatch(e.header+e.body, -1) {
			if !slices.Contains(safeFields, match[1]) {
				t.Errorf("%s: @%s@ is not safe to print, or no field", id, match[1])
			}
		}
		if !strings.Contains(e.body, "Nothing is to be done") && !strings.Contains(e.body, "\n    job-cleanup ") {
			t.Errorf("%s: says not what to do", id)
		}
		for _, line := range strings.Split(e.body, "\n") {
			if len(line) > 80 {
				t.Errorf("%s: longer than 80 columns: %q", id, line)
			}
		}
	}
}
