package unit

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"job-cleanup/pkg/outcome"
	"job-cleanup/pkg/residue"
)

// names are the rules for which units a job may name.
type names struct {
	own    string   // the job's unit
	body   string   // that without its type
	family string   // "batch@" when the job is an instance; "" otherwise
	marks  []string // words of which a name must hold one, set off
	ids    []string // words that are enough as the whole name
}

// number is a part of a CI job's id that is a number of its own: long decimal
// or hexadecimal digits, or a UUID. Other parts name the project or the step.
var number = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-fA-F-]*[0-9][0-9a-fA-F-]*$`) })

const shortestNumber = 6

// namesOf derives the rules from the job. An instance is told from its
// siblings by the instance alone: the name that they share is no mark of one.
func namesOf(job residue.Job) names {
	n := names{own: job.Unit}
	if job.CI {
		n.ids = append(n.ids, job.Invocation)
		for part := range strings.SplitSeq(job.Invocation, ":") {
			if len(part) >= shortestNumber && number().MatchString(part) {
				n.marks = append(n.marks, part)
			}
		}
		return n
	}
	if job.Invocation != "" {
		n.ids = append(n.ids, job.Invocation)
	}
	if outcome.CheckUnitName(job.Unit) != nil {
		return n
	}
	n.body = body(job.Unit)
	prefix, instance, isInstance := strings.Cut(n.body, "@")
	if isInstance {
		n.family = prefix + "@"
		n.marks = append(n.marks, instance)
	} else {
		n.marks = append(n.marks, prefix)
	}
	return n
}

// body is a unit's name without its type.
func body(name string) string { return name[:strings.LastIndexByte(name, '.')] }

// types are those of helpers. Stopping a slice or a target would stop much
// more, the job itself included.
var types = []string{".service", ".scope", ".socket", ".timer", ".path"}

// machine are the units that keep a machine running, or that nobody may stop
// for a job's sake: names, or beginnings of names.
var machine = []string{
	"systemd-", "dbus", "init.", "user@", "user-runtime-dir@", "session-", "getty@", "serial-getty@", "console-getty",
	"container-getty@", "autovt@", "ssh.", "ssh@", "sshd", "cron.", "crond.", "atd.", "NetworkManager", "networking.", "wpa_supplicant",
	"polkit", "rsyslog", "syslog", "auditd", "chrony", "ntp", "docker.", "docker-", "containerd", "crio.", "podman.", "kubelet", "libvirtd",
	"lvm2-", "multipathd", "iscsid", "emergency.", "rescue.", "job-cleanup",
}

var errType = errors.New("only services, scopes, sockets, timers and paths are helpers")

// check returns why a unit of this name is none of the job's helpers.
func (n names) check(name string) error {
	if err := outcome.CheckUnitName(name); err != nil {
		return err
	}
	return n.allowed(name)
}

// checkPattern returns why a pattern does not keep to the job's helpers. Its
// matches are checked too, each by its name.
func (n names) checkPattern(pattern string) error {
	if _, err := path.Match(matchable(pattern), ""); err != nil {
		return fmt.Errorf("pattern %q: %w", pattern, err)
	}
	// What stands in for a wildcard is no delimiter and no part of a mark.
	literal := wildcards().ReplaceAllString(pattern, "?")
	if !strings.Contains(literal, ".") {
		return fmt.Errorf("pattern %q: %w", pattern, errType)
	}
	return n.allowed(literal)
}

func (n names) allowed(name string) error {
	part := body(name)
	switch {
	case !slices.Contains(types, name[len(part):]):
		return fmt.Errorf("unit %q: %w", name, errType)
	case name == n.own || part == n.body && n.body != "":
		return fmt.Errorf("unit %q belongs to the job itself, not to a helper", name)
	case n.family != "" && strings.HasPrefix(name, n.family):
		return fmt.Errorf("unit %q is another instance of the job's own template", name)
	case slices.ContainsFunc(machine, func(m string) bool { return strings.HasPrefix(name, m) }):
		return fmt.Errorf("unit %q is the machine's", name)
	case !n.marked(part):
		return fmt.Errorf("unit %q does not carry the job's identity (%s)", name, strings.Join(append(n.marks, n.ids...), " or "))
	}
	return nil
}

// marked reports whether a name holds one of the words, set off by
// punctuation. A mark that is the whole name names something else of the same
// name: cleanup@postgresql may not stop postgresql.
func (n names) marked(part string) bool {
	for _, id := range n.ids {
		if setOff(part, id) {
			return true
		}
	}
	for _, mark := range n.marks {
		if part != mark && setOff(part, mark) {
			return true
		}
	}
	return false
}

// setOff reports whether a word stands in a name with punctuation, or nothing,
// on both sides.
func setOff(name, word string) bool {
	if word == "" {
		return false
	}
	for from := 0; ; {
		at := strings.Index(name[from:], word)
		if at < 0 {
			return false
		}
		begin := from + at
		end := begin + len(word)
		if (begin == 0 || delimiter(name[begin-1])) && (end == len(name) || delimiter(name[end])) {
			return true
		}
		from = begin + 1
	}
}

// delimiter leaves out the backslash, which begins an escaped character of a
// longer word.
func delimiter(c byte) bool { return strings.IndexByte("-_.:@", c) >= 0 }
