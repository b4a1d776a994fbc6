package outcome

import "testing"

func TestFromWord(t *testing.T) {
	for text, want := range map[string]string{
		"success": Success, "SUCCESS": Success, "failed": "failed", "FAILURE": "failure", "canceled": "cancelled",
		"cancelled": "cancelled", "ABORTED": "aborted", "UNSTABLE": "unstable", "NOT_BUILT": "not-built",
		"": "", "-x": "", "a b": "", "a/b": "", "ü": "", "1": "",
	} {
		if o, ok := FromWord(text); o.Result != want || ok != (want != "") {
			t.Errorf("%q: got %+v, %v", text, o, ok)
		}
	}
}

func TestFromCI(t *testing.T) {
	tests := []struct {
		platform string
		env      Lookup
		want     string
	}{
		{"github", env("JOB_STATUS=cancelled"), "cancelled"},
		{"github", env("CI_JOB_STATUS=success"), Unknown},
		{"gitlab", env("CI_JOB_STATUS=success"), Success},
		{"gitlab", env("CI_JOB_STATUS=failed"), "failed"},
		{"gitlab", env("CI_JOB_STATUS=running"), Unknown},
		{"jenkins", env("JOB_STATUS=UNSTABLE"), "unstable"},
		{"jenkins", env("JOB_STATUS="), Unknown},
		{"drone", env("JOB_STATUS=success"), Unknown},
		{"", env("JOB_STATUS=success"), Unknown},
	}
	for _, tt := range tests {
		if got := FromCI(tt.platform, tt.env); got != (Outcome{Result: tt.want}) {
			t.Errorf("%s: got %+v, want %s", tt.platform, got, tt.want)
		}
	}
	if o := FromCI("gitlab", env("CI_JOB_STATUS=failed")); !Matches([]string{"failure"}, o) || Matches([]string{"success"}, o) {
		t.Errorf("%+v is not a failure", o)
	}
}
