package journal

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestRealJournal sends records to a real journald and reads them back, with
// all bytes, large ones too.
func TestRealJournal(t *testing.T) {
	n := NewNative(os.Geteuid() == 0)
	if _, err := os.Stat("/usr/bin/journalctl"); err != nil || !n.Available() || os.Geteuid() != 0 {
		t.Skip("needs root, journalctl and a journal")
	}
	r := owed
	r.Invocation = fmt.Sprintf("%032x", time.Now().UnixNano())
	r.Unit = "job-cleanup-journal-test.service"
	large := r
	large.Ref, large.Attempt = strings.Repeat("0123456789\n", 50_000), 3
	for _, record := range []Record{r, large} {
		if err := n.Send(record); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("journalctl", "--sync").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var got []Entry
	// Asked for by unit: the records were not sent from there.
	for e, err := range (Reader{}).Read(ctx, "--unit="+r.Unit) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Invocation == r.Invocation {
			got = append(got, e)
		}
	}
	if len(got) != 2 {
		t.Fatalf("read %d records, want 2", len(got))
	}
	for i, want := range []Record{r, large} {
		e := got[i]
		if !e.Trusted() || e.Event != Owed || e.Ref != want.Ref || e.Outcome != want.Outcome || e.Attempt != want.Attempt || e.Priority != Warning {
			t.Errorf("record %d: trusted %v, event %s, %d bytes of ref, %+v", i, e.Trusted(), e.Event, len(e.Ref), e.Outcome)
		}
		if id := e.Fields["MESSAGE_ID"]; len(id) != 1 || id[0] != Owed.MessageID() {
			t.Errorf("record %d: MESSAGE_ID %q", i, id)
		}
		if strings.Contains(e.Message, "\n") {
			t.Errorf("record %d: message %.80q", i, e.Message)
		}
	}
}
