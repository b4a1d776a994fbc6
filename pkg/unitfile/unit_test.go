package unitfile

import (
	"reflect"
	"slices"
	"testing"
)

func TestValues(t *testing.T) {
	parse := func(text string) *Unit {
		sections, _ := Parse("f", []byte(text))
		return &Unit{Sections: sections}
	}
	u := parse("[S]\nk=1\nk=2\nl=a\n[T]\nk=x\n[S]\nk=\nk=3\n[S]\nk=4\nl=\n")
	if got := u.Values("S", "k"); !reflect.DeepEqual(got, []string{"3", "4"}) {
		t.Errorf("k: %q", got)
	}
	if got := u.Last("S", "k"); got != "4" {
		t.Errorf("last k: %q", got)
	}
	if got := u.Last("S", "l"); got != "" || u.Values("S", "l") != nil {
		t.Errorf("reset l: %q", got)
	}
	if got := u.Last("T", "l"); got != "" {
		t.Errorf("unset: %q", got)
	}
}

func TestCleanup(t *testing.T) {
	const fragment = "[Unit]\nReset=yes\n[X-Cleanup]\nTimeoutSec=9\n[X-Cleanup.Path]\nRemove=/tmp/a\n[X-CleanupOther]\nk=v\n[x-cleanup.vault]\nRevoke=self\n"
	tests := []struct {
		name, dropIn string
		want         []string
	}{
		{"kept", "[X-Cleanup.Path]\nRemove=/tmp/b\n", []string{"[X-Cleanup]", "TimeoutSec=9", "[X-Cleanup.Path]", "Remove=/tmp/a", "[X-CleanupOther]", "k=v", "[x-cleanup.vault]", "Revoke=self", "[X-Cleanup.Path]", "Remove=/tmp/b"}},
		{"reset", "[X-Cleanup.Path]\nRemove=/tmp/b\n[X-CLEANUP]\nreset=yes\nTimeoutSec=1\n[X-Cleanup.Path]\nRemove=/tmp/c\n", []string{"[X-CLEANUP]", "TimeoutSec=1", "[X-Cleanup.Path]", "Remove=/tmp/c"}},
		{"reset=no", "[X-Cleanup]\nReset=no\n", []string{"[X-Cleanup]", "TimeoutSec=9", "[X-Cleanup.Path]", "Remove=/tmp/a", "[X-CleanupOther]", "k=v", "[x-cleanup.vault]", "Revoke=self", "[X-Cleanup]"}},
		{"reset by nobody knows what", "[X-Cleanup]\nReset=perhaps\n", []string{"[X-Cleanup]", "TimeoutSec=9", "[X-Cleanup.Path]", "Remove=/tmp/a", "[X-CleanupOther]", "k=v", "[x-cleanup.vault]", "Revoke=self", "[X-Cleanup]", "Reset=perhaps"}},
		{"reset in a kind is no reset", "[X-Cleanup.Path]\nReset=yes\n", []string{"[X-Cleanup]", "TimeoutSec=9", "[X-Cleanup.Path]", "Remove=/tmp/a", "[X-CleanupOther]", "k=v", "[x-cleanup.vault]", "Revoke=self", "[X-Cleanup.Path]", "Reset=yes"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := tree(t, map[string]string{"etc/a.service": fragment, "etc/a.service.d/1.conf": tt.dropIn})
			u, err := Load("a.service", search(root))
			if err != nil {
				t.Fatal(err)
			}
			if got := unplaced(u.Cleanup()); !slices.Equal(got, tt.want) {
				t.Errorf("\n got %q\nwant %q", got, tt.want)
			}
			if again := unplaced(u.Cleanup()); !slices.Equal(again, tt.want) {
				t.Errorf("asked twice, the second time %q", again)
			}
		})
	}
}
