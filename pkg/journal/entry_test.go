package journal

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const journalText = `{"__REALTIME_TIMESTAMP":"1700000000000001","_UID":"0","_SYSTEMD_UNIT":"sweep.service","JOB_CLEANUP_UNIT":"a.service","JOB_CLEANUP_EVENT":"removed","JOB_CLEANUP_REF":[47,255,10],"MESSAGE":null,"PRIORITY":"6"}
{"_UID":"1000","_SYSTEMD_UNIT":"a.service","JOB_CLEANUP_UNIT":"a.service","JOB_CLEANUP_EVENT":"summary","JOB_CLEANUP_OWED":"3","JOB_CLEANUP_ATTEMPT":"x"}
{"_UID":"1000","_SYSTEMD_UNIT":"evil.service","JOB_CLEANUP_UNIT":"a.service","JOB_CLEANUP_EVENT":"removed"}
{"_UID":"1000","_SYSTEMD_UNIT":"evil.service","JOB_CLEANUP_UNIT":["a.service","evil.service",[255]],"JOB_CLEANUP_EVENT":"removed"}
{"_UID":"1000","MESSAGE":"somebody else's"}
`

func decodeAll(t *testing.T, text string) []Entry {
	t.Helper()
	var all []Entry
	for e, err := range Decode(strings.NewReader(text)) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

func TestDecode(t *testing.T) {
	all := decodeAll(t, journalText)
	if len(all) != 5 {
		t.Fatalf("%d entries", len(all))
	}
	if e := all[0]; e.Ref != "/\xff\n" || e.Event != Removed || e.Time.UnixMicro() != 1700000000000001 || e.Priority != Info || e.Message != "" {
		t.Errorf("first: %+v", e.Record)
	}
	if e := all[1]; e.Counts[Owed] != 3 || e.Attempt != 0 {
		t.Errorf("second: %+v", e.Record)
	}
	if e := all[3]; len(e.Fields["JOB_CLEANUP_UNIT"]) != 3 || e.Unit != "" || e.Fields["JOB_CLEANUP_UNIT"][2] != "\xff" {
		t.Errorf("repeated: %q", e.Fields["JOB_CLEANUP_UNIT"])
	}
}

func TestTrusted(t *testing.T) {
	want := []bool{true, true, false, false, false}
	for i, e := range decodeAll(t, journalText) {
		if e.Trusted() != want[i] {
			t.Errorf("entry %d: trusted %v, want %v", i, e.Trusted(), want[i])
		}
		if user := e.TrustedUser(1000); !user {
			t.Errorf("entry %d is not its user's own", i)
		}
		if e.TrustedUser(1001) != (i == 0) {
			t.Errorf("entry %d: another user's", i)
		}
	}
}

func TestDecodeBroken(t *testing.T) {
	for _, text := range []string{`{"A":"b"`, `[1]`, `{"A":{"b":1}}`, `{"A":[300]}`, `{"A":7}`, "nonsense"} {
		var last error
		for _, err := range Decode(strings.NewReader(text)) {
			last = err
		}
		if last == nil {
			t.Errorf("%s: no error", text)
		}
	}
}

// program writes a stand-in for journalctl.
func program(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journalctl")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRead(t *testing.T) {
	path := program(t, `echo "{\"MESSAGE\":\"$*\"}"; env | grep -q SECRET && echo '{"A":"leak"}'; exit 0`)
	t.Setenv("SECRET", "1")
	var got []Entry
	for e, err := range (Reader{Command: path, User: true}).Read(context.Background(), "JOB_CLEANUP_UNIT=a b") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	if len(got) != 1 || got[0].Message != "--output=json --all --no-pager --quiet --user JOB_CLEANUP_UNIT=a b" {
		t.Errorf("got %+v", got)
	}
}

func TestReadErrors(t *testing.T) {
	for script, want := range map[string]string{
		`echo '{"A":"1"}'; echo 'no such thing' >&2; exit 1`:         "no such thing",
		`echo '{"A":"1"}'; echo nonsense; head -c 300000 /dev/zero`:  "invalid character",
		`echo '{"A":"1"}'; printf '{"A":'; echo cut off >&2; exit 3`: "cut off",
	} {
		n, last := 0, error(nil)
		for _, err := range (Reader{Command: program(t, script)}).Read(context.Background()) {
			if err != nil {
				last = err
				continue
			}
			n++
		}
		if n != 1 || last == nil || !strings.Contains(last.Error(), want) {
			t.Errorf("%s: %d entries, error %v", script, n, last)
		}
	}
	for _, err := range (Reader{Command: "/nonexistent"}).Read(context.Background()) {
		if err == nil {
			t.Error("a missing program is no error")
		}
	}
}

// The reader may stop at any time; journalctl must not outlive that.
func TestReadStopsEarly(t *testing.T) {
	path := program(t, `while :; do echo '{"A":"1"}'; done`)
	for _, err := range (Reader{Command: path}).Read(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(journalText)
	f.Add(`{"A":[[1],"b",null]}`)
	f.Fuzz(func(t *testing.T, text string) {
		for e, err := range Decode(strings.NewReader(text)) {
			if err == nil {
				_ = Text(e.Record)
				_ = e.Record.Fields()
			}
		}
	})
}
