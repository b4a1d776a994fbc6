package unitfile

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// service is a unit with these lines in [Service].
func service(lines ...string) *Unit {
	sections, _ := Parse("/etc/systemd/system/a.service", []byte("[Service]\n"+strings.Join(lines, "\n")+"\n"))
	return &Unit{Name: "a.service", Fragment: "/etc/systemd/system/a.service", Sections: sections}
}

func TestSandbox(t *testing.T) {
	expand := func(value string) (string, error) {
		if strings.Contains(value, "%!") {
			return "", errors.New("unknown specifier")
		}
		return strings.ReplaceAll(value, "%i", "1"), nil
	}
	const tmp = "/tmp private, /var/tmp private"
	const homes = "/home masked, /root masked, /run/user masked"
	tests := []struct{ lines, want string }{
		{"", ""},
		{"PrivateTmp=no", ""},
		{"PrivateTmp=yes", tmp},
		{"PrivateTmp=True", tmp},
		{"PrivateTmp=disconnected", tmp},
		{"PrivateTmp=connected", tmp},
		{"PrivateTmp=yes|PrivateTmp=", ""},
		{"DynamicUser=yes", tmp},
		{"DynamicUser=yes|PrivateTmp=no", tmp},
		{"PrivateTmp=yes|[Unit]|JoinsNamespaceOf=b.service", "/tmp other, /var/tmp other"},
		{"ProtectHome=yes", homes},
		{"ProtectHome=tmpfs", homes},
		{"ProtectHome=read-only", ""},
		{"RootDirectory=/srv/root", "/ other"},
		{"RootDirectory=/", ""},
		{"RootImage=/srv/x.raw", "/ other"},
		{"RootDirectory=/srv/root|PrivateTmp=yes", "/ other, " + tmp},
		{"BindPaths=/a:/b", "/b other"},
		{"BindPaths=/a", "/a other"},
		{"BindPaths=-/a:/b:norbind /c/ /d::", "/b other, /c other, /d other"},
		{`BindPaths="/a b":"/c d" /e\:f:/g`, "/c d other, /g other"},
		{"BindReadOnlyPaths=/a:/srv/%i", "/srv/1 other"},
		{"BindPaths=/a:/b|BindReadOnlyPaths=|BindReadOnlyPaths=/c", "/c other"},
		{"BindPaths=/a:/srv/%!", "/ other"},
		{`BindPaths="/a`, "/ other, /a other"},
		{"MountImages=/x.img:/data:root:ro", "/data other"},
		{"TemporaryFileSystem=/var:ro /opt", "/opt private, /var private"},
		{"TemporaryFileSystem=/var|BindReadOnlyPaths=/var/lib/x", "/var private, /var/lib/x other"},
		{"TemporaryFileSystem=/tmp|BindPaths=/srv/t:/tmp", "/tmp other"},
		{"TemporaryFileSystem=/var|StateDirectory=a/b c:link", "/var private, /var/lib/a/b other, /var/lib/c other, /var/lib/private/a/b other, /var/lib/private/c other"},
		{"StateDirectory=a", ""},
		{"PrivateTmp=yes|BindPaths=/srv/t:/tmp|InaccessiblePaths=/var/tmp", "/tmp other, /var/tmp masked"},
		{"InaccessiblePaths=/a -/b +/c -+/d", "/a masked, /b masked, /c masked, /d masked"},
		{"InaccessiblePaths=/a|InaccessiblePaths=", ""},
		{"ReadWritePaths=/a|ReadOnlyPaths=/b", ""},
	}
	for _, tt := range tests {
		t.Run(tt.lines, func(t *testing.T) {
			var got []string
			for _, h := range Sandbox(service(strings.Split(tt.lines, "|")...), expand) {
				got = append(got, h.Path+" "+string(h.How))
			}
			if text := strings.Join(got, ", "); text != tt.want {
				t.Errorf("got %q, want %q", text, tt.want)
			}
		})
	}
	if got := Sandbox(service("BindPaths=/a:/srv/%i /b"), nil); len(got) != 2 || got[0].Path != "/" {
		t.Errorf("nobody expands: %v", got)
	}
}

func TestSplit(t *testing.T) {
	tests := []struct {
		value string
		want  [][]string
		ok    bool
	}{
		{"", nil, true},
		{"  a  b\tc ", [][]string{{"a"}, {"b"}, {"c"}}, true},
		{"a:b:c d", [][]string{{"a", "b", "c"}, {"d"}}, true},
		{"a::c :", [][]string{{"a", "", "c"}, {"", ""}}, true},
		{`"a b":'c d'e`, [][]string{{"a b", "c de"}}, true},
		{`"" x`, [][]string{{""}, {"x"}}, true},
		{`a\ b\:c`, [][]string{{"a b:c"}}, true},
		{`"a\"b"`, [][]string{{`a"b`}}, true},
		{`"a b`, [][]string{{"a b"}}, false},
		{`a\`, [][]string{{`a\`}}, true},
	}
	for _, tt := range tests {
		if got, ok := words(tt.value); !reflect.DeepEqual(got, tt.want) || ok != tt.ok {
			t.Errorf("%q: got %q, %v", tt.value, got, ok)
		}
	}
	if got, ok := commandWords(`/bin/x a:b "c d"`); !ok || !slices.Equal(got, []string{"/bin/x", "a:b", "c d"}) {
		t.Errorf("command: %q", got)
	}
}
