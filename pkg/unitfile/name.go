package unitfile

import (
	"fmt"
	"strings"

	"job-cleanup/pkg/outcome"
)

// Name is the name of a unit in its parts: "batch@1.service" is prefix
// "batch", instance "1", type "service".
type Name struct {
	Prefix   string // before the first "@"; never empty
	At       bool   // there is an "@": a template, or an instance of one
	Instance string // escaped, as in the name; empty for templates and plain units
	Type     string // without the dot
}

// ParseName splits the name of a unit. The error is an
// *outcome.UnitNameError.
func ParseName(name string) (Name, error) {
	if err := outcome.CheckUnitName(name); err != nil {
		return Name{}, err
	}
	dot := strings.LastIndexByte(name, '.')
	n := Name{Type: name[dot+1:]}
	n.Prefix, n.Instance, n.At = strings.Cut(name[:dot], "@")
	return n, nil
}

// String puts the name together again.
func (n Name) String() string {
	if n.At {
		return n.Prefix + "@" + n.Instance + "." + n.Type
	}
	return n.Prefix + "." + n.Type
}

// IsTemplate reports whether n is a template: "batch@.service".
func (n Name) IsTemplate() bool { return n.At && n.Instance == "" }

// IsInstance reports whether n is an instance: "batch@1.service".
func (n Name) IsInstance() bool { return n.At && n.Instance != "" }

// Template returns the template of an instance; any other name is returned
// as it is.
func (n Name) Template() Name {
	n.Instance = ""
	return n
}

// WithInstance returns the instance of a template; a plain name is returned
// as it is.
func (n Name) WithInstance(instance string) Name {
	if n.At {
		n.Instance = instance
	}
	return n
}

// Escape turns any text into a part of a unit name, as systemd-escape does.
func Escape(text string) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		switch {
		case c == '/':
			b.WriteByte('-')
		case c == '.' && i == 0 || !plain(c):
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// Unescape undoes Escape.
func Unescape(text string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '-':
			b.WriteByte('/')
		case '\\':
			c, ok := hexByte(text[i:])
			if !ok {
				return "", fmt.Errorf("unescape %q: a backslash without xNN", text)
			}
			b.WriteByte(c)
			i += 3
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}

// EscapePath turns an absolute path into a part of a unit name, as
// systemd-escape --path does. A path with a component "." or ".." has none.
func EscapePath(path string) (string, error) {
	var parts []string
	for part := range strings.SplitSeq(path, "/") {
		switch part {
		case "":
		case ".", "..":
			return "", fmt.Errorf("escape path %q: it has the component %q", path, part)
		default:
			parts = append(parts, part)
		}
	}
	switch {
	case path == "" || path[0] != '/':
		return "", fmt.Errorf("escape path %q: it is not absolute", path)
	case len(parts) == 0:
		return "-", nil
	}
	return Escape(strings.Join(parts, "/")), nil
}

// UnescapePath undoes EscapePath. What no clean absolute path escapes to is
// an error.
func UnescapePath(text string) (string, error) {
	if text == "-" {
		return "/", nil
	}
	path, err := Unescape(text)
	if err != nil {
		return "", err
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." {
			return "", fmt.Errorf("unescape path %q: it has the component %q", text, part)
		}
	}
	return "/" + path, nil
}

// plain reports whether c stands for itself in escaped text.
func plain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == ':' || c == '_' || c == '.'
}

// hexByte reads the \xNN that text begins with.
func hexByte(text string) (byte, bool) {
	if len(text) < 4 || text[1] != 'x' {
		return 0, false
	}
	hi, lo := hexDigit(text[2]), hexDigit(text[3])
	if hi < 0 || lo < 0 {
		return 0, false
	}
	return byte(hi<<4 | lo), true
}

func hexDigit(c byte) int {
	if c >= 'A' && c <= 'F' {
		c += 'a' - 'A'
	}
	return strings.IndexByte("0123456789abcdef", c)
}
