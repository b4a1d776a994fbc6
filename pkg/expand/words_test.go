package expand

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestRecordAndWords(t *testing.T) {
	odd := "a b\t\"'\\ $X ${ID} %i {}$"
	specs := ForSystem("batch@1.service")
	specs.Home, specs.Host = odd, `\x41`
	look := env("ID", "7", "TWO", "x y", "CODE", `"${ID}" $ID %i \n`)
	tests := []struct {
		in, recorded string
		want         []string
	}{
		{`/bin/rm -f  /x`, `/bin/rm -f  /x`, []string{"/bin/rm", "-f", "/x"}},
		{`a 'b c' "d e"f ""`, `a 'b c' "d e"f ""`, []string{"a", "b c", "d ef", ""}},
		{`a\sb \x41\101\u00e4\U0001F600 \\ \"`, `a\sb \x41\101\u00e4\U0001F600 \\ \"`, []string{"a b", "AAä😀", `\`, `"`}},
		{`"\t" '\n'`, `"\t" '\n'`, []string{"\t", "\n"}},
		{`x-%i %%i 100%%`, `x-1 %%i 100%%`, []string{"x-1", "%i", "100%"}},
		{`a ${TWO} "b ${TWO}"`, `a ${TWO} "b ${TWO}"`, []string{"a", "x y", "b x y"}},
		{`a${CODE}`, `a${CODE}`, []string{`a"${ID}" $ID %i \n`}},
		{`"${NO:-a b}"`, `"${NO:-a b}"`, []string{"a b"}},
		{`${NO:-%H}`, `${NO:-\\x41}`, []string{`\x41`}},
		{`%h`, `a\sb\x09\"\'\\\s$$X\s$$\x7bID\x7d\s%%i\s\x7b\x7d$$`, []string{odd}},
		{`"%h"`, `"a\sb\x09\"\'\\\s$$X\s$$\x7bID\x7d\s%%i\s\x7b\x7d$$"`, []string{odd}},
		{`'%h'{ID}`, `'a\sb\x09\"\'\\\s$$X\s$$\x7bID\x7d\s%%i\s\x7b\x7d$$'{ID}`, []string{odd + "{ID}"}},
		{`${NO:-%h}`, `${NO:-a\sb\x09\"\'\\\s$$X\s$$\x7bID\x7d\s%%i\s\x7b\x7d$$}`, []string{odd}},
		{`$%i`, `$$1`, []string{"$1"}},
		{`$"{ID}"`, `$$"{ID}"`, []string{"${ID}"}},
		{`\x24{ID} \x25i`, `\x24{ID} \x25i`, []string{"${ID}", "%i"}},
		{`sh -c 'echo $(id) $1 $? $$ID'`, `sh -c 'echo $(id) $1 $? $$ID'`, []string{"sh", "-c", "echo $(id) $1 $? $ID"}},
	}
	for _, tt := range tests {
		recorded, use, err := Record(tt.in, specs, look)
		if err != nil || recorded != tt.recorded {
			t.Errorf("Record(%s) = %s, %v; want %s", tt.in, recorded, err, tt.recorded)
			continue
		}
		if wantEnv := strings.Contains(tt.in, "${"); use.Env != wantEnv {
			t.Errorf("Record(%s): %+v", tt.in, use)
		}
		got, err := Words(recorded, look)
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("Words(%s) = %q, %v; want %q", recorded, got, err, tt.want)
		}
		again, _, err := Record(recorded, Specifiers{}, look)
		if err != nil || again != recorded {
			t.Errorf("recorded twice: %s, %v; want %s", again, err, recorded)
		}
	}
}

func TestRecord_refused(t *testing.T) {
	look := env("UP", "..", "NL", "a\nb")
	for in, want := range map[string]string{
		"":               "empty",
		"  ":             "empty",
		`"a`:             "quote",
		`'a`:             "quote",
		`a\`:             "backslash",
		`a\q`:            "escape",
		`a\%i`:           "escape",
		`a\x4`:           "escape",
		`a\x00`:          "escape",
		`a\ud800`:        "escape",
		`a\777`:          "escape",
		"a\x00":          "NUL",
		`a %z`:           "specifier",
		`a %`:            "percent",
		`a "50%"`:        "specifier",
		`a $HOME`:        "braces",
		`a ${NO}`:        "not set",
		`a ${NO:-b c}`:   "brace",
		`a ${NO:-}`:      "default",
		`a ${UP}`:        "component",
		`a ${NL}`:        "newline",
		`a %i`:           "no value",
		`a ${NO:-${UP}}`: "inside",
	} {
		got, _, err := Record(in, ForSystem("x.service"), look)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(e.Text, want) {
			t.Errorf("Record(%q) = %q, %v; want an error about %q", in, got, err, want)
		}
	}
}

func TestWords_withoutEnvironment(t *testing.T) {
	for _, in := range []string{"a ${ID}", "a ${ID:-x}"} {
		var e *Error
		if _, err := Words(in, nil); !errors.As(err, &e) || e.Variable != "ID" {
			t.Errorf("Words(%q): %v", in, err)
		}
	}
	if got, err := Words("a b", nil); err != nil || len(got) != 2 {
		t.Errorf("Words without a variable: %q, %v", got, err)
	}
}

func TestSplit(t *testing.T) {
	got, err := Split(`Path Remove=/a\*b "Exclude=/c d" X=\x25i\x24Y Z=%i${Q} Run='"a\\\\b"'`)
	want := []string{"Path", `Remove=/a\*b`, "Exclude=/c d", "X=%%i$$Y", "Z=%i${Q}", `Run="a\\b"`}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Split = %q, %v; want %q", got, err, want)
	}
}

func FuzzWords(f *testing.F) {
	f.Add(`/bin/rm -rf "a b" ${X} %h`, "a b")
	f.Add(`sh -c 'x $$Y ${NO:-%h}' \x41`, `"'\$%{}`)
	f.Add(`$%h%%"{X}" %I`, "{X}")
	f.Fuzz(func(t *testing.T, line, value string) {
		look := env("X", "env value")
		specs := ForSystem("batch@a-b.service")
		specs.Home = value
		recorded, use, err := Record(line, specs, look)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Text == "" {
				t.Fatalf("error %#v", err)
			}
			return
		}
		words, err := Words(recorded, look)
		if err != nil {
			t.Fatalf("recorded as %q, then: %v", recorded, err)
		}
		if !use.Env && !strings.Contains(line+value, "env value") && strings.Contains(strings.Join(words, " "), "env value") {
			t.Fatalf("%q took from the environment and does not say so", recorded)
		}
		again, _, err := Record(recorded, Specifiers{}, look)
		if err != nil || again != recorded {
			t.Fatalf("recorded %q, again %q, %v", recorded, again, err)
		}
		if value == "" || literal("", value) != nil {
			return
		}
		quotedBack, err := Words(quoted(value), look)
		if err != nil || len(quotedBack) != 1 || quotedBack[0] != value {
			t.Fatalf("%q quoted as %s reads %q, %v", value, quoted(value), quotedBack, err)
		}
	})
}
