// Package secret carries secrets without ever showing them, and reads them
// from where a plan says they stand.
//
// A plan names a secret by reference: file:PATH, env:NAME, credential:NAME or
// stash:NAME. References are safe to record; what they lead to is not, so a
// Text prints as [redacted] however it is formatted.
package secret

import (
	"crypto/subtle"
	"encoding/json"
	"fmt"
)

// Redacted is what a Text prints as.
const Redacted = "[redacted]"

// Text is a secret value. Its zero value is the empty secret.
type Text struct{ value string }

// New wraps a secret value.
func New(value string) Text { return Text{value: value} }

// Reveal returns the secret itself, for the one call that sends it.
func (t Text) Reveal() string { return t.value }

// Empty reports whether there is nothing in it.
func (t Text) Empty() bool { return t.value == "" }

// Equal compares in constant time.
func (t Text) Equal(o Text) bool {
	return subtle.ConstantTimeCompare([]byte(t.value), []byte(o.value)) == 1
}

// String hides the value.
func (Text) String() string { return Redacted }

// GoString hides the value from %#v.
func (Text) GoString() string { return Redacted }

// Format hides the value from every verb of package fmt.
func (Text) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(Redacted)) }

// MarshalJSON hides the value.
func (Text) MarshalJSON() ([]byte, error) { return json.Marshal(Redacted) }

// MarshalText hides the value.
func (Text) MarshalText() ([]byte, error) { return []byte(Redacted), nil }
