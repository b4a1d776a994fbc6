package main

import (
	"strings"
	"testing"

	"job-cleanup/pkg/journal"
)

// Records of one job as journalctl prints them.
const (
	toldArmed   = `{"_UID":"0","JOB_CLEANUP_EVENT":"armed","SERVICE_RESULT":"unknown"}`
	toldSuccess = `{"_UID":"1000","_SYSTEMD_UNIT":"a.service","JOB_CLEANUP_UNIT":"a.service","JOB_CLEANUP_EVENT":"summary","SERVICE_RESULT":"success"}`
	toldForged  = `{"_UID":"1001","_SYSTEMD_UNIT":"b.service","JOB_CLEANUP_UNIT":"a.service","JOB_CLEANUP_EVENT":"summary","SERVICE_RESULT":"success"}`
	toldByHand  = `{"_UID":"0","JOB_CLEANUP_EVENT":"summary","SERVICE_RESULT":"unknown"}`
	toldSwept   = `{"_UID":"0","JOB_CLEANUP_EVENT":"summary","SERVICE_RESULT":"lost"}`
)

// TestTold: a job is lost only if the journal knows its beginning and no end.
func TestTold(t *testing.T) {
	for name, test := range map[string]struct {
		records []string
		result  string
		sure    bool
	}{
		"nothing":           {nil, "lost", false},
		"armed":             {[]string{toldArmed}, "lost", true},
		"hook":              {[]string{toldArmed, toldSuccess}, "success", true},
		"hook, old journal": {[]string{toldSuccess}, "success", true},
		"later passes":      {[]string{toldArmed, toldSuccess, toldByHand, toldSwept}, "success", true},
		"forged":            {[]string{toldArmed, toldForged}, "lost", true},
		"broken":            {[]string{toldArmed, `{"`}, "lost", false},
	} {
		ending, sure := told(journal.Decode(strings.NewReader(strings.Join(test.records, "\n"))), journal.Entry.Trusted)
		if ending.Result != test.result || sure != test.sure {
			t.Errorf("%s: %q, sure %v; want %q, %v", name, ending.Result, sure, test.result, test.sure)
		}
	}
}
