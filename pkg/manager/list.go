package manager

import (
	"context"
	"strings"

	"github.com/godbus/dbus/v5"
)

// Listed is one line of a manager's list of units.
type Listed struct {
	Name, LoadState, ActiveState, SubState string
}

// List returns the loaded units that match one of the patterns, or all without
// one. In a pattern * ? [ ] are wild and a backslash is a plain character.
func (c *Conn) List(ctx context.Context, patterns ...string) ([]Listed, error) {
	if patterns == nil {
		patterns = []string{}
	}
	var rows []struct {
		Name, Description, LoadState, ActiveState, SubState, Following string
		Path                                                           dbus.ObjectPath
		JobID                                                          uint32
		JobType                                                        string
		JobPath                                                        dbus.ObjectPath
	}
	err := c.call(ctx, managerPath, managerIface+".ListUnitsByPatterns", []string{}, patterns).Store(&rows)
	if err != nil {
		return nil, failed(ctx, "list units "+strings.Join(patterns, " "), err)
	}
	units := make([]Listed, 0, len(rows))
	for _, row := range rows {
		units = append(units, Listed{row.Name, row.LoadState, row.ActiveState, row.SubState})
	}
	return units, nil
}
