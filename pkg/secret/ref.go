package secret

import (
	"path"
	"strings"
)

// The schemes of references.
const (
	File       = "file"       // an absolute path
	Env        = "env"        // a variable of the job's environment
	Credential = "credential" // a systemd credential of the unit
	Stashed    = "stash"      // a secret that arm put by; see Stash
)

// Ref says where a secret stands. It may be recorded and shown.
type Ref struct {
	Scheme string // one of the constants
	Name   string
}

// String is the reference as a plan writes it.
func (r Ref) String() string { return r.Scheme + ":" + r.Name }

// RefError is a text that is no reference. It never shows the text, which may
// be the secret itself.
type RefError struct {
	Problem string
	Hint    string // what to write instead
}

// Error is the problem and the hint.
func (e *RefError) Error() string { return e.Problem + "; " + e.Hint }

const forms = "write file:/PATH, env:NAME, credential:NAME or stash:ID"

// ParseRef reads a reference. The error is a *RefError.
func ParseRef(text string) (Ref, error) {
	scheme, name, found := strings.Cut(text, ":")
	if !found {
		return Ref{}, notARef(text)
	}
	r := Ref{Scheme: scheme, Name: name}
	switch scheme {
	case File:
		if !strings.HasPrefix(name, "/") || path.Clean(name) != name || name == "/" || strings.ContainsRune(name, 0) {
			return Ref{}, &RefError{"file: needs a clean absolute path (text not shown)", "write file:/PATH/TO/FILE"}
		}
	case Env:
		if !isVariable(name) {
			return Ref{}, &RefError{"env: needs the name of a variable (text not shown)", "write env:NAME, not its value"}
		}
	case Credential, Stashed:
		if !isComponent(name) {
			return Ref{}, &RefError{scheme + ": needs a plain name (text not shown)", "write " + scheme + ":NAME"}
		}
	default:
		return Ref{}, notARef(text)
	}
	return r, nil
}

// notARef guesses what somebody meant, from the shape of the text alone.
func notARef(text string) error {
	e := &RefError{Problem: "a secret may stand in a plan by reference only (text not shown)", Hint: forms}
	switch {
	case text == "":
		e.Problem = "empty secret reference"
	case strings.HasPrefix(text, "/"):
		e.Hint = "for a file write file: before the path"
	case strings.HasPrefix(text, "$"):
		e.Hint = "for a variable write env: and its name"
	}
	return e
}

func isVariable(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != "" && len(name) <= 255
}

// isComponent accepts one visible path component that no terminal minds.
func isComponent(name string) bool {
	for _, c := range []byte(name) {
		if c <= ' ' || c >= 0x7f || c == '/' {
			return false
		}
	}
	return name != "" && len(name) <= 255 && name[0] != '.'
}
