package unitfile

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// flat writes sections as "[name]@line" and "key=value@line".
func flat(sections []Section) []string {
	var out []string
	for _, s := range sections {
		out = append(out, fmt.Sprintf("[%s]@%d", s.Name, s.Line))
		for _, e := range s.Entries {
			out = append(out, fmt.Sprintf("%s=%s@%d", e.Key, e.Value, e.Line))
		}
	}
	return out
}

func TestParse(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
		problems   []string
	}{
		{"empty", "", nil, nil},
		{"plain", "[A]\nk=v\n", []string{"[A]@1", "k=v@2"}, nil},
		{"no newline at the end", "[A]\nk=v", []string{"[A]@1", "k=v@2"}, nil},
		{"blanks", "  [A]\t\n \tk  =\t v w  \n", []string{"[A]@1", "k=v w@2"}, nil},
		{"value with equals", "[A]\nk=a=b\n", []string{"[A]@1", "k=a=b@2"}, nil},
		{"empty value", "[A]\nk=\n", []string{"[A]@1", "k=@2"}, nil},
		{"comments", "# x\n[A]\n;y\n  # z\nk=v # not one\n", []string{"[A]@2", "k=v # not one@5"}, nil},
		{"repeated", "[A]\nk=1\n[B]\n[A]\nk=2\n", []string{"[A]@1", "k=1@2", "[B]@3", "[A]@4", "k=2@5"}, nil},
		{"continuation", "[A]\nk=a \\\n  b\\\nc\nl=d\n", []string{"[A]@1", "k=a    b c@2", "l=d@5"}, nil},
		{"comment in it", "[A]\nk=a\\\n# no\\\n;no\nb\nl=c\n", []string{"[A]@1", "k=a b@2", "l=c@6"}, nil},
		{"comment before it keeps the line", "[A]\n\\\n#x\nk=a\n", []string{"[A]@1", "k=a@2"}, nil},
		{"blank line ends it", "[A]\nk=a\\\n\nl=b\n", []string{"[A]@1", "k=a@2", "l=b@4"}, nil},
		{"two backslashes", "[A]\nk=a\\\\\nl=b\n", []string{"[A]@1", `k=a\\@2`, "l=b@3"}, nil},
		{"three backslashes", "[A]\nk=a\\\\\\\nb\n", []string{"[A]@1", `k=a\\ b@2`}, nil},
		{"blank after it", "[A]\nk=a\\ \nl=b\n", []string{"[A]@1", `k=a\@2`, "l=b@3"}, nil},
		{"backslash at the end", "[A]\nk=a\\", []string{"[A]@1", "k=a@2"}, nil},
		{"crlf", "[A]\r\nk=a\\\r\nb\r\n", []string{"[A]@1", "k=a b@2"}, nil},
		{"bom", "\ufeff[A]\nk=v\n", []string{"[A]@1", "k=v@2"}, nil},
		{"no equals", "[A]\nnonsense\nk=v\n", []string{"[A]@1", "k=v@3"}, []string{`f:2: line "nonsense" has no "="`}},
		{"no key", "[A]\n = v\nk=v\n", []string{"[A]@1", "k=v@3"}, []string{`f:2: nothing stands before the "="`}},
		{"outside", "k=v\n[A]\n", []string{"[A]@2"}, []string{`f:1: "k" stands outside of any section`}},
		{"open header loses its keys, not others'", "[A]\n[B\nk=v\n[C]\nl=w\n", []string{"[A]@1", "[C]@4", "l=w@5"},
			[]string{`f:2: section header "[B" is not of the form [Name]`}},
		{"empty header", "[]\n[A]\n", []string{"[A]@2"}, []string{`f:1: section header "[]" is not of the form [Name]`}},
		{"nul", "[A]\nk=a\x00b\nl=c\n", []string{"[A]@1", "l=c@3"}, []string{"f:2: line has a NUL byte"}},
		{"nul in a continuation", "[A]\nk=a\\\n\x00\nl=c\n", []string{"[A]@1", "l=c@4"}, []string{"f:2: line has a NUL byte"}},
		{"not utf-8", "[A]\nk=\xff\nl=c\n", []string{"[A]@1", "l=c@3"}, []string{"f:2: line is not valid UTF-8"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sections, problems := Parse("f", []byte(tt.text))
			if got := flat(sections); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("sections\n got %q\nwant %q", got, tt.want)
			}
			var texts []string
			for _, p := range problems {
				texts = append(texts, p.Error())
				if p.Hint == "" {
					t.Errorf("problem %q has no hint", p.Error())
				}
			}
			if !reflect.DeepEqual(texts, tt.problems) {
				t.Errorf("problems\n got %q\nwant %q", texts, tt.problems)
			}
		})
	}
}

func TestParse_badLineIsKnownToItsSection(t *testing.T) {
	sections, problems := Parse("f", []byte("[A]\nRemove=/x\nWhen failure\n[B]\n"))
	if len(sections) != 2 || len(problems) != 1 {
		t.Fatalf("got %d sections, %d problems", len(sections), len(problems))
	}
	if len(sections[0].Bad) != 1 || sections[0].Bad[0] != problems[0] || len(sections[1].Bad) != 0 {
		t.Errorf("Bad = %v and %v", sections[0].Bad, sections[1].Bad)
	}
}

func TestParse_longLines(t *testing.T) {
	long := strings.Repeat("x", 1<<16)
	sections, problems := Parse("f", []byte("[A]\nk="+long+"\n"))
	if len(problems) != 0 || sections[0].Entries[0].Value != long {
		t.Errorf("a line of 64 KiB: %d problems", len(problems))
	}
	huge := strings.Repeat("x", maxLine)
	many := strings.Repeat("y\\\n", maxLine)
	for name, text := range map[string]string{"one line": huge + "\n", "continued": many + "z\n"} {
		sections, problems = Parse("f", []byte("[A]\nk="+text+"l=w\n"))
		if len(problems) != 1 || problems[0].Line != 2 || !strings.Contains(problems[0].Text, "longer than") {
			t.Errorf("%s: problems %v", name, problems)
		}
		if e := sections[0].Entries; len(e) != 1 || e[0].Key != "l" {
			t.Errorf("%s: entries %v", name, e)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("[X-Cleanup.Path]\nRemove=/tmp/a \\\n# c\n b\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		sections, problems := Parse("f", text)
		for _, p := range problems {
			if p.Line < 1 || p.Text == "" {
				t.Errorf("problem without a place: %#v", p)
			}
		}
		last := 0
		var again strings.Builder
		for _, s := range sections {
			if s.Name == "" || s.Line <= last {
				t.Fatalf("section %q at line %d after line %d", s.Name, s.Line, last)
			}
			last = s.Line
			fmt.Fprintf(&again, "[%s]\n", s.Name)
			for _, e := range s.Entries {
				if e.Key == "" || e.Line <= last || strings.ContainsAny(e.Key+e.Value, "\r\n\x00") {
					t.Fatalf("entry %+v at line %d after line %d", e, e.Line, last)
				}
				last = e.Line
				fmt.Fprintf(&again, "%s=%s \n", e.Key, e.Value)
			}
		}
		same, _ := Parse("f", []byte(again.String()))
		if a, b := unplaced(sections), unplaced(same); !reflect.DeepEqual(a, b) {
			t.Errorf("written and read again\n got %q\nwant %q", b, a)
		}
	})
}

// unplaced writes sections without line numbers.
func unplaced(sections []Section) []string {
	var out []string
	for _, s := range sections {
		out = append(out, "["+s.Name+"]")
		for _, e := range s.Entries {
			out = append(out, e.Key+"="+e.Value)
		}
	}
	return out
}
