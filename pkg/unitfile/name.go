package unitfile

import (
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
