package outcome

import (
	"fmt"
	"slices"
	"strings"
)

// unitTypes are the suffixes of systemd.unit(5).
var unitTypes = []string{"service", "socket", "device", "mount", "automount", "swap", "target", "path", "timer", "slice", "scope"}

// maxUnitName is the longest name of a unit, in bytes.
const maxUnitName = 255

// UnitNameError tells why something is no name of a unit.
type UnitNameError struct {
	Name string
	From string // where the name came from: "--unit", "MONITOR_UNIT"; may be empty
	Why  string
}

// Error names the value, shortened, and what is wrong with it.
func (e *UnitNameError) Error() string {
	name := e.Name
	if len(name) > maxUnitName {
		name = name[:maxUnitName] + "…"
	}
	if e.From == "" {
		return fmt.Sprintf("unit name %q: %s", name, e.Why)
	}
	return fmt.Sprintf("unit name %q from %s: %s", name, e.From, e.Why)
}

// Hint says what to write instead.
func (e *UnitNameError) Hint() string {
	if !strings.Contains(e.Name, ".") {
		return "write the whole name, as in batch@1.service"
	}
	return "names have letters, digits and :-_.\\@ only; systemd-escape turns other text into such a name"
}

// CheckUnitName returns a *UnitNameError unless name is one that
// systemd.unit(5) allows: of a plain unit, a template or an instance. Such a
// name has no slash and is neither "." nor "..", so it is safe as a file name.
func CheckUnitName(name string) error { return checkUnitName(name, "") }

func checkUnitName(name, from string) error {
	if why := unitNameFault(name); why != "" {
		return &UnitNameError{Name: name, From: from, Why: why}
	}
	return nil
}

// unitNameFault says what is wrong with a name, "" when nothing is.
func unitNameFault(name string) string {
	dot := strings.LastIndexByte(name, '.')
	switch {
	case name == "":
		return "it is empty"
	case len(name) > maxUnitName:
		return fmt.Sprintf("it is longer than %d bytes", maxUnitName)
	case dot <= 0 || !isUnitType(name[dot+1:]):
		return "it does not end in a unit type such as .service"
	case name[0] == '@':
		return "nothing stands before the \"@\""
	}
	for i := range dot {
		if !unitNameByte(name[i]) {
			return fmt.Sprintf("it has the character %q", name[i:i+1])
		}
	}
	return ""
}

func isUnitType(suffix string) bool { return slices.Contains(unitTypes, suffix) }

func unitNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(`:-_.\@`, c) >= 0
}
