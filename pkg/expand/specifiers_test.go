package expand

import (
	"errors"
	"testing"
)

// env makes a lookup of pairs.
func env(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func TestSpecifiers(t *testing.T) {
	system := ForSystem(`my-batch@a-b\x2dc.service`)
	system.Host, system.MachineID, system.BootID = "box", "0123", "4567"
	user := ForUser("x.service", "ann", 1000, "/home/ann", env("XDG_RUNTIME_DIR", "/run/user/1000", "XDG_CACHE_HOME", "relative", "TMPDIR", "/big/tmp"))
	nested := ForSystem("a@b@c.d.service")
	tests := []struct {
		specs  Specifiers
		letter byte
		want   string
	}{
		{system, 'n', `my-batch@a-b\x2dc.service`},
		{system, 'N', `my-batch@a-b\x2dc`},
		{system, 'p', "my-batch"}, {system, 'P', "my/batch"},
		{system, 'i', `a-b\x2dc`}, {system, 'I', "a/b-c"},
		{system, 'j', "batch"}, {system, 'J', "batch"},
		{system, 't', "/run"}, {system, 'S', "/var/lib"}, {system, 'C', "/var/cache"}, {system, 'L', "/var/log"},
		{system, 'E', "/etc"}, {system, 'T', "/tmp"}, {system, 'V', "/var/tmp"},
		{system, 'u', "root"}, {system, 'U', "0"}, {system, 'h', "/root"},
		{system, 'H', "box"}, {system, 'm', "0123"}, {system, 'b', "4567"}, {system, '%', "%"},
		{user, 'p', "x"}, {user, 'j', "x"}, {user, 'N', "x"},
		{user, 't', "/run/user/1000"}, {user, 'S', "/home/ann/.local/state"}, {user, 'C', "/home/ann/.cache"},
		{user, 'L', "/home/ann/.local/state/log"}, {user, 'E', "/home/ann/.config"}, {user, 'T', "/big/tmp"}, {user, 'V', "/big/tmp"},
		{user, 'u', "ann"}, {user, 'U', "1000"}, {user, 'h', "/home/ann"},
		{nested, 'p', "a"}, {nested, 'i', "b@c.d"}, {nested, 'N', "a@b@c.d"},
	}
	for _, tt := range tests {
		got, err := tt.specs.Expand(tt.letter)
		if err != nil || got != tt.want {
			t.Errorf("%%%c of %q = %q, %v; want %q", tt.letter, tt.specs.Unit, got, err, tt.want)
		}
	}
}

func TestSpecifiers_refused(t *testing.T) {
	tests := []struct {
		name   string
		specs  Specifiers
		letter byte
		unset  bool
	}{
		{"no instance", ForSystem("x.service"), 'i', true},
		{"no instance, unescaped", ForSystem("x.service"), 'I', true},
		{"template itself", ForSystem("x@.service"), 'i', true},
		{"no unit", ForSystem(""), 'n', true},
		{"nothing after the dash", ForSystem("x-@1.service"), 'j', true},
		{"no host", ForSystem("x.service"), 'H', true},
		{"no home", ForUser("", "", 5, "", env()), 'S', true},
		{"unknown", ForSystem("x.service"), 'z', false},
		{"bad escape", ForSystem(`x@a\x2.service`), 'I', false},
		{"no hexadecimal", ForSystem(`x@a\xzz.service`), 'I', false},
		{"dots", ForSystem("x@...service"), 'i', false},
		{"dots unescaped", ForSystem("x@..-..-etc.service"), 'I', false},
		{"a slash alone", ForSystem("x@-.service"), 'I', false},
		{"newline", ForSystem(`x@a\x0ab.service`), 'I', false},
		{"nul", ForSystem(`x@a\x00b.service`), 'I', false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.specs.Expand(tt.letter)
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("%%%c = %q, %v; want an *Error", tt.letter, got, err)
			}
			if e.Unset != tt.unset {
				t.Errorf("Unset = %v: %v", e.Unset, e)
			}
		})
	}
}
