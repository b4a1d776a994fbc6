package ledger

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"job-cleanup/pkg/outcome"
	"job-cleanup/pkg/residue"
)

// script makes records from bytes: each byte is one record about one of three
// specs and three residues.
func script(ops []byte) []Record {
	var records []Record
	for n, op := range ops {
		a, x := spec(fmt.Sprint("s\xff", op>>3&3)), thing(fmt.Sprint("r", op>>5&3))
		var r Record
		switch op & 7 {
		case 0, 1:
			r = NewSpec(a)
		case 2:
			r = Found(a.ID, x)
		case 3:
			r = Complete(a.ID)
		case 4:
			r = Attempt(a.ID, x.ID, "owed", 0, residue.Errorf(residue.Retry, residue.Timeout, "slow\xff"))
		case 5:
			r = Closed(a.ID, []string{"", x.ID}[op>>7], "removed", "")
		case 6:
			r = Forget([]string{a.ID, x.ID}[op>>7])
		case 7:
			r = []Record{NewJob(Job{Fragment: "\xfe"}), Ended(Ending{Outcome: outcome.Outcome{Result: "success"}})}[op>>7]
		}
		records = append(records, normal(r, epoch.Add(time.Duration(n))))
	}
	return records
}

func stateFrom(t *testing.T, records []Record) *State {
	t.Helper()
	text, err := encode(records)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Replay(bytes.NewReader(text))
	if err != nil || s.damaged+s.Torn+len(s.Unknown) > 0 || s.newer {
		t.Fatalf("our own records came back as %+v, %v", s, err)
	}
	return s
}

// facts is what counts about a debt.
func facts(s *State) []Debt {
	owed := s.Owed()
	for i := range owed {
		owed[i].Since = time.Time{} // a record that is written anew keeps the first time
	}
	return owed
}

// spoilt puts garbage before, between and after lines. Garbage lines that are
// records are left out: they are none.
func spoilt(text, garbage []byte) []byte {
	var junk []byte
	for line := range bytes.SplitSeq(garbage, []byte("\n")) {
		if _, class, _ := decode(line); class != good && class != newer {
			junk = append(append(junk, line...), '\n')
		}
	}
	out := slices.Clone(junk)
	for line := range bytes.Lines(text) {
		out = append(append(out, line...), junk...)
	}
	return out
}

func FuzzReplay(f *testing.F) {
	f.Add([]byte{0, 2, 3, 37}, []byte("garbage"))
	f.Add([]byte{7, 0, 2, 34, 3, 4, 36, 197, 135}, []byte("{\"v\":1,\"t\":\"spec\"\n\x00\x00\x00\n{\"v\":2,\"t\":\"spec\"}"))
	f.Add([]byte{8, 10, 11, 5, 0, 6, 0, 134}, []byte("{}\n[]\nnull\n{\"v\":1,\"t\":\"closed\"}\n\xff\xfe"))
	f.Add([]byte{4, 133, 5, 3, 2}, []byte("{\"v\":1,\"t\":\"found\",\"id\":\"x\",\"residue\":{}}"))
	f.Fuzz(func(t *testing.T, ops, garbage []byte) {
		if len(ops) > 64 || len(garbage) > 1<<12 {
			return
		}
		if _, err := Replay(bytes.NewReader(garbage)); err != nil {
			t.Fatalf("garbage is an error: %v", err)
		}
		records := script(ops)
		clean := stateFrom(t, records)
		text, err := encode(records)
		if err != nil {
			t.Fatal(err)
		}
		dirty, err := Replay(bytes.NewReader(spoilt(text, garbage)))
		if err != nil || !reflect.DeepEqual(dirty.Owed(), clean.Owed()) {
			t.Fatalf("damage changed what is owed, or %v:\n%+v\n%+v", err, dirty.Owed(), clean.Owed())
		}
		again := stateFrom(t, clean.snapshot())
		if !reflect.DeepEqual(facts(again), facts(clean)) || !reflect.DeepEqual(again.Ending, clean.Ending) || !reflect.DeepEqual(again.Job, clean.Job) {
			t.Fatalf("written anew it says\n%+v\nnot\n%+v", facts(again), facts(clean))
		}
	})
}

// A file cut anywhere owes what its whole lines say.
func FuzzCut(f *testing.F) {
	f.Add([]byte{7, 0, 2, 34, 3, 4, 36, 197, 135}, uint16(700))
	f.Add([]byte{0, 8, 16}, uint16(3))
	f.Fuzz(func(t *testing.T, ops []byte, at uint16) {
		if len(ops) > 64 {
			return
		}
		records := script(ops)
		text, err := encode(records)
		if err != nil {
			t.Fatal(err)
		}
		text = text[:min(int(at), len(text))]
		s, err := Replay(bytes.NewReader(text))
		if err != nil || s.damaged > 0 {
			t.Fatalf("%+v, %v", s, err)
		}
		whole := bytes.Count(text, []byte("\n"))
		if s.Torn == 0 && len(text) > 0 && text[len(text)-1] != '\n' {
			whole++ // only the newline is missing
		}
		if want := stateFrom(t, records[:whole]); !reflect.DeepEqual(s.Owed(), want.Owed()) {
			t.Fatalf("owed %+v, want %+v", s.Owed(), want.Owed())
		}
	})
}
