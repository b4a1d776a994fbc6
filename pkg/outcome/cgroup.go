package outcome

import "strings"

// Cgroup is what the text of /proc/PID/cgroup says about a process.
type Cgroup struct {
	Unit        string // the deepest service in the path; "" when there is none
	UserManager bool   // that service belongs to a user's manager, not to the machine's
	Path        string // of that service's group, from the root of its hierarchy; "" without a service
}

// ParseCgroup reads the text of /proc/PID/cgroup: the line of the unified
// hierarchy ("0::/…") or that of the manager's own on version 1
// ("1:name=systemd:/…"). A name that no unit can have is passed over.
func ParseCgroup(text string) Cgroup {
	for _, want := range []string{"", "name=systemd"} {
		for line := range strings.SplitSeq(text, "\n") {
			fields := strings.SplitN(line, ":", 3)
			if len(fields) != 3 || fields[1] != want {
				continue
			}
			if c := fromPath(strings.TrimSuffix(fields[2], " (deleted)")); c.Unit != "" {
				return c
			}
		}
	}
	return Cgroup{}
}

// fromPath finds the deepest service in a path. Below user@UID.service stand
// the units of that user: who is in none of them is in no job, and least of
// all in the job "user@UID.service".
func fromPath(path string) Cgroup {
	var c Cgroup
	end := 0
	for part := range strings.SplitAfterSeq(path, "/") {
		end += len(part)
		part = strings.TrimSuffix(part, "/")
		part = strings.TrimPrefix(part, "_") // put there where the kernel has a file of that name
		switch {
		case !strings.HasSuffix(part, ".service") || CheckUnitName(part) != nil:
		case strings.HasPrefix(part, "user@"):
			c = Cgroup{UserManager: true}
		default:
			c.Unit, c.Path = part, strings.TrimSuffix(path[:end], "/")
		}
	}
	return c
}
