package outcome

import (
	"errors"
	"strings"
	"testing"
)

func TestCheckUnitName(t *testing.T) {
	good := []string{
		"a.service", "batch@1.service", "batch@.service", "batch@a@b.service", `dev-sda\x2d1.device`, "-.slice", "a.b.timer",
		"..service", "x:y_z.mount", strings.Repeat("a", maxUnitName-len(".service")) + ".service",
	}
	for _, name := range good {
		if err := CheckUnitName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	bad := []string{
		"", ".", "..", "a", "a.", ".service", "@.service", "@1.service", "a.conf", "a/b.service", "../a.service", "a b.service",
		"a\x00.service", "a\n.service", "ü.service", "a.service/", "a.service ", "a*.service", "${X}.service",
		strings.Repeat("a", maxUnitName) + ".service",
	}
	for _, name := range bad {
		var e *UnitNameError
		if err := CheckUnitName(name); !errors.As(err, &e) {
			t.Errorf("%q: got %v, want a *UnitNameError", name, err)
		} else if e.Hint() == "" || len(e.Error()) > 1200 {
			t.Errorf("%q: hint %q, error of %d bytes", name, e.Hint(), len(e.Error()))
		}
	}
}
