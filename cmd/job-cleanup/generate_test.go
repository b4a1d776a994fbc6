package main

import (
	"slices"
	"strings"
	"testing"
)

// TestCommandLine: what the manager calls by a name of its own is the
// generator, whatever stands in its arguments.
func TestCommandLine(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"job-cleanup run --strict", "run --strict"},
		{"/usr/bin/job-cleanup", ""},
		{"/usr/lib/systemd/system-generators/job-cleanup-generator /n /e /l", "generate generator --kmsg -- /n /e /l"},
		{"/usr/lib/systemd/system-generators/job-cleanup /n /e /l", "generate generator --kmsg -- /n /e /l"},
		{"/usr/lib/systemd/user-generators/job-cleanup-generator /n /e /l", "generate generator --kmsg --user -- /n /e /l"},
		{"job-cleanup-generator /n", "generate generator --kmsg -- /n"},
	} {
		got := commandLine(strings.Fields(tt.args))
		if !slices.Equal(got, strings.Fields(tt.want)) {
			t.Errorf("%q: got %q, want %q", tt.args, got, tt.want)
		}
	}
	if got := commandLine(nil); got != nil {
		t.Errorf("no arguments at all: %q", got)
	}
}
