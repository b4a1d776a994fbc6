package unitfile

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/coreos/go-systemd/v22/unit"
)

// WiringName is the file name that the text of WiringDropIn is meant for. It
// sorts behind all others, since the text repeats what they say.
const WiringName = "zz-job-cleanup.conf"

// writable are the folders that a hook writes to.
const writable = "-/var/lib/job-cleanup -/run/job-cleanup"

// ErrWired says that a unit calls job-cleanup before and after its job
// already.
var ErrWired = errors.New("unit has its hooks already")

// WiringDropIn returns a drop-in that makes a service call binary before its
// job, to arm, and after it, to run. What the unit does of the two by itself
// is left as it is; ErrWired when that is both. An earlier WiringName among
// the unit's drop-ins does not count.
//
// A drop-in's ExecStartPre= would come behind the unit's own, which may
// already make what a cleanup has to know about; so the list is dropped and
// written again behind ours.
func WiringDropIn(u *Unit, binary string) (string, error) {
	if err := wirable(u, binary); err != nil {
		return "", err
	}
	u = u.without(WiringName)
	arms, runs := false, false
	for _, h := range Hooks(u) {
		arms = arms || h.Key == "ExecStartPre" && h.Verb == "arm"
		runs = runs || h.Key == "ExecStopPost" && h.Verb == "run"
	}
	if arms && runs {
		return "", fmt.Errorf("unit %q: %w", u.Name, ErrWired)
	}
	var lines []*unit.UnitOption
	if !arms {
		lines = append(lines, armFirst(u, binary)...)
	}
	if !runs {
		lines = append(lines, option("ExecStopPost", dash(u)+binary+" run"))
	}
	if strict(u) {
		lines = append(lines, option("ReadWritePaths", writable))
	}
	text, err := io.ReadAll(unit.Serialize(lines))
	if err != nil {
		return "", fmt.Errorf("write drop-in of %q: %w", u.Name, err)
	}
	return string(text), nil
}

// dash is the "-" that keeps a hook from failing its job, unless the plan wants
// just that.
func dash(u *Unit) string {
	policy := ""
	for _, s := range u.Cleanup() {
		for _, e := range s.Entries {
			if strings.EqualFold(s.Name, "X-Cleanup") && e.Key == "ExitPolicy" {
				policy = e.Value
			}
		}
	}
	if policy == "strict" {
		return ""
	}
	return "-"
}

// armFirst puts the arming before the unit's own preparations.
func armFirst(u *Unit, binary string) []*unit.UnitOption {
	arm := option("ExecStartPre", "-+"+binary+" arm")
	own := u.Values("Service", "ExecStartPre")
	if len(own) == 0 {
		return []*unit.UnitOption{arm}
	}
	lines := []*unit.UnitOption{option("ExecStartPre", ""), arm}
	for _, value := range own {
		lines = append(lines, option("ExecStartPre", value))
	}
	return lines
}

// option is a line of [Service]. A backslash at its end would continue it.
func option(key, value string) *unit.UnitOption {
	if strings.HasSuffix(value, `\`) {
		value += " "
	}
	return unit.NewUnitOption("Service", key, value)
}

// wirable says why a unit can't be given hooks by a drop-in.
func wirable(u *Unit, binary string) error {
	name, err := ParseName(u.Name)
	if err != nil {
		return err
	}
	if name.Type != "service" {
		return fmt.Errorf("unit %q: only a service has hooks", u.Name)
	}
	if !filepath.IsAbs(binary) || strings.ContainsAny(binary, "\"'\\%$; \t\r\n") {
		return fmt.Errorf("program %q can't stand on a unit's line: not an absolute path of plain characters", binary)
	}
	for _, d := range u.DropIns {
		if base := filepath.Base(d); base > WiringName {
			return fmt.Errorf("unit %q: drop-in %q counts after %q and would be obeyed twice", u.Name, d, WiringName)
		}
	}
	for _, p := range u.Problems {
		if p.Line == 0 { // what it says would be lost
			return fmt.Errorf("unit %q: %w", u.Name, p)
		}
	}
	return nil
}

// strict reports whether the hook sees a read-only file system. Adding
// ReadWritePaths= to any other unit would put it into a mount namespace, where
// its mounts no longer reach the host.
func strict(u *Unit) bool {
	switch word := strings.ToLower(u.Last("Service", "ProtectSystem")); word {
	case "strict":
		return true
	case "full":
		return false
	default:
		protected, _ := Boolean(word)
		dynamic, _ := Boolean(u.Last("Service", "DynamicUser")) // implies it
		return dynamic && !protected
	}
}
