package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// journalText is what journalctl prints of two cleanups and of somebody who
// pretends that there was a third.
const journalText = `{"__REALTIME_TIMESTAMP":"1700000000000000","_UID":"0","JOB_CLEANUP_EVENT":"summary","JOB_CLEANUP_UNIT":"a.service","JOB_CLEANUP_INVOCATION":"one","SERVICE_RESULT":"success","JOB_CLEANUP_REMOVED":"3","JOB_CLEANUP_DURATION_USEC":"1500000","MESSAGE":"cleanup of a.service"}
{"__REALTIME_TIMESTAMP":"1700000001000000","_UID":"1000","_SYSTEMD_UNIT":"b.service","JOB_CLEANUP_EVENT":"summary","JOB_CLEANUP_UNIT":"b.service","JOB_CLEANUP_INVOCATION":"two","SERVICE_RESULT":"signal","EXIT_STATUS":"KILL","JOB_CLEANUP_OWED":"2"}
{"__REALTIME_TIMESTAMP":"1700000002000000","_UID":"1000","_SYSTEMD_UNIT":"evil.service","JOB_CLEANUP_EVENT":"summary","JOB_CLEANUP_UNIT":"a.service","JOB_CLEANUP_INVOCATION":"forged","SERVICE_RESULT":"success"}
`

// history runs the verb on that journal and returns what it printed.
func history(t *testing.T, uid int, o options, h historyOptions) string {
	t.Helper()
	dir := t.TempDir()
	h.command = filepath.Join(dir, "journalctl")
	script := "#!/bin/sh\necho \"$@\" >>" + dir + "/args\ncase $* in *--sync*) exit;; esac\ncat <<'END'\n" + journalText + "END\n"
	if err := os.WriteFile(h.command, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	p := &program{stdout: &out, stderr: &errs, uid: uid}
	if code, err := runHistory(context.Background(), p, &o, h); code != 0 || err != nil {
		t.Fatalf("%d, %v", code, err)
	}
	args, _ := os.ReadFile(filepath.Join(dir, "args"))
	return string(args) + out.String() + errs.String()
}

func TestHistory(t *testing.T) {
	tests := []struct {
		name    string
		uid     int
		o       options
		h       historyOptions
		want    []string
		wantNot []string
	}{
		{name: "all", want: []string{"a.service  success      3        0       0     0        1.5s", "b.service  signal KILL  0        0       2     0"}, wantNot: []string{"forged"}},
		{name: "of the user's own", uid: 1000, want: []string{"one", "two", "forged"}},
		{name: "of another user", uid: 1001, want: []string{"one", "two"}, wantNot: []string{"forged", "--sync"}},
		{name: "after what was sent", want: []string{" --sync\n--output=json"}},
		{name: "of a unit", o: options{args: []string{"exec"}}, want: []string{"JOB_CLEANUP_UNIT=exec JOB_CLEANUP_UNIT=exec.service MESSAGE_ID="}},
		{name: "since", h: historyOptions{since: "-2h", until: "now"}, want: []string{"--since=-2h --until=now"}},
		{name: "followed", h: historyOptions{follow: true}, want: []string{"--follow --no-tail"}, wantNot: []string{"--sync"}},
		{name: "owed", h: historyOptions{owed: true}, want: []string{"two"}, wantNot: []string{"one"}},
		{name: "failures", h: historyOptions{results: []string{"failure"}}, want: []string{"two"}, wantNot: []string{"one"}},
		{name: "none", h: historyOptions{results: []string{"timeout"}}, want: []string{"No cleanup is known.\nhint: "}},
		{name: "json", o: options{json: true}, want: []string{`"invocation":"one","outcome":{"result":"success"},"counts":{"removed":3},"duration_ns":1500000000}`}, wantNot: []string{"forged"}},
		{name: "one", o: options{invocation: "one"}, want: []string{"JOB_CLEANUP_INVOCATION=one\n", "cleanup of a.service\n"}, wantNot: []string{"MESSAGE_ID"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := history(t, tt.uid, tt.o, tt.h)
			for _, want := range tt.want {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
			for _, not := range tt.wantNot {
				if strings.Contains(out, not) {
					t.Errorf("%q in\n%s", not, out)
				}
			}
		})
	}
}

// TestHistory_journalHangs: what is there is shown all the same.
func TestHistory_journalHangs(t *testing.T) {
	fake := filepath.Join(t.TempDir(), "journalctl")
	script := "#!/bin/sh\ncase $* in *--sync*) exec sleep 1000;; esac\ncat <<'END'\n" + journalText + "END\n"
	if err := os.WriteFile(fake, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	p := &program{stdout: &out, stderr: &errs}
	code, err := runHistory(ctx, p, &options{}, historyOptions{command: fake})
	if code != 0 || err != nil || !strings.Contains(out.String(), "a.service") {
		t.Errorf("%d, %v\n%s%s", code, err, &out, &errs)
	}
}
