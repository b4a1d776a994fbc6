package aws

import (
	"testing"
	"time"
)

func TestSections(t *testing.T) {
	tests := []struct{ name, text, left string }{
		{"alone", "[a]\nk=v\n", ""},
		{"first", "[a]\nk=v\n[b]\nk=v\n", "[b]\nk=v\n"},
		{"last without newline", "[b]\nk=v\n[a]\nk=v", "[b]\nk=v\n"},
		{"CRLF", "[b]\r\nk=v\r\n[a]\r\nk=v\r\n[c]\r\n", "[b]\r\nk=v\r\n[c]\r\n"},
		{"comment of the next", "[a]\nk=v\n\n# b's\n; too\n[b]\n", "# b's\n; too\n[b]\n"},
		{"comment of ours", "[a]\n# ours\nk=v\n# old\n\n[b]\n", "[b]\n"},
		{"comment at the end", "[b]\n[a]\nk=v\n# ours", "[b]\n"},
		{"header with blanks", "[ a ] # x\nk=v\n[b]\n", "[b]\n"},
		{"as in a configuration file", "[profile a]\nk=v\n[b]\n", "[b]\n"},
		{"nested keys", "[a]\ns3 =\n  max = 1\n[b]\n", "[b]\n"},
		{"only longer names", "[aa]\n[a b]\n[b a]\n", "[aa]\n[a b]\n[b a]\n"},
		{"header that does not end", "[a\nk=v\n", "[a\nk=v\n"},
		{"commented out", "#[a]\n# k=v\n", "#[a]\n# k=v\n"},
	}
	for _, tt := range tests {
		text := []byte(tt.text)
		for all := sections(text, "a"); len(all) > 0; all = sections(text, "a") {
			text = without(text, all[0])
		}
		if string(text) != tt.left {
			t.Errorf("%s: left %q, want %q", tt.name, text, tt.left)
		}
	}
}

func FuzzSections(f *testing.F) {
	f.Add("[b]\nk=v\n", "[c]\n")
	f.Add("x\r\n", "\r[b]")
	f.Fuzz(func(t *testing.T, before, after string) {
		ours := "[a-7]\naws_access_key_id=x\n"
		if before != "" {
			before += "\n"
		}
		text := []byte(before + ours + "[b]\n" + after)
		for _, s := range sections(text, "a-7") {
			if s.from < 0 || s.to < s.from || s.to > len(text) || text[s.from] != '[' && s.keys == nil {
				t.Fatalf("section %d to %d of %q", s.from, s.to, text)
			}
		}
		if n := len(sections([]byte(before), "a-7")) + len(sections([]byte(after), "a-7")); n > 0 {
			return
		}
		all := sections(text, "a-7")
		if len(all) != 1 || string(without(text, all[0])) != before+"[b]\n"+after {
			t.Errorf("cut %v out of %q", all, text)
		}
	})
}

func TestInstant(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, text := range []string{
		"2026-01-02T03:04:05Z", "2026-01-02T04:04:05+01:00", "2026-01-02T03:04:05+0000", "2026-01-02 03:04:05+00:00",
		"2026-01-02T03:04:05UTC", " 2026-01-02 03:04:05 ", "1767323045", "1767323045000", "2026-01-02T03:04:05.000Z",
	} {
		if got := instant(text); !got.Equal(at) {
			t.Errorf("instant(%q) = %v, want %v", text, got, at)
		}
	}
	for _, text := range []string{"", "soon", "12", "-1767323045"} {
		if got := instant(text); !got.IsZero() {
			t.Errorf("instant(%q) = %v, want none", text, got)
		}
	}
}
