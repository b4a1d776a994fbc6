package unitfile

import (
	"testing"
)

func TestParseName(t *testing.T) {
	tests := []struct {
		name string
		want Name
		tmpl string
	}{
		{"batch.service", Name{Prefix: "batch", Type: "service"}, "batch.service"},
		{"batch@1.service", Name{Prefix: "batch", At: true, Instance: "1", Type: "service"}, "batch@.service"},
		{"batch@.timer", Name{Prefix: "batch", At: true, Type: "timer"}, "batch@.timer"},
		{`a-b@x\x2dy@z.1.service`, Name{Prefix: "a-b", At: true, Instance: `x\x2dy@z.1`, Type: "service"}, "a-b@.service"},
	}
	for _, tt := range tests {
		got, err := ParseName(tt.name)
		if err != nil || got != tt.want {
			t.Errorf("%q: got %+v, %v", tt.name, got, err)
		}
		if got.String() != tt.name || got.Template().String() != tt.tmpl {
			t.Errorf("%q: String %q, Template %q", tt.name, got, got.Template())
		}
		if got.IsTemplate() && got.IsInstance() || got.At != (got.IsTemplate() || got.IsInstance()) {
			t.Errorf("%q: template %v, instance %v", tt.name, got.IsTemplate(), got.IsInstance())
		}
		if again := got.Template().WithInstance(got.Instance); again != got {
			t.Errorf("%q: instance of its template is %q", tt.name, again)
		}
	}
	for _, name := range []string{"", "../x.service", "a/b.service", "x", "@1.service"} {
		if n, err := ParseName(name); err == nil {
			t.Errorf("%q: got %+v, want an error", name, n)
		}
	}
}
