package expand

import "fmt"

// Error says why a text could not be expanded.
type Error struct {
	Text     string // what is wrong: short, lower case, without any value of the environment
	Hint     string // what to do about it; may be empty
	Unset    bool   // something has no value, as opposed to: the text is wrong
	Variable string // Unset: the variable's name, empty when it is not one
}

// Error returns Text.
func (e *Error) Error() string { return e.Text }

// faultf makes an error about wrong text.
func faultf(hint, format string, args ...any) *Error {
	return &Error{Text: fmt.Sprintf(format, args...), Hint: hint}
}
