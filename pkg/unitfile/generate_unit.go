package unitfile

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/coreos/go-systemd/v22/unit"
)

// Template is what a unit is made from.
type Template struct {
	Name        string // "batch.service"; "batch@.service" for a template
	Binary      string // absolute path of job-cleanup
	Exec        string // the job's command line, as on ExecStart=
	User        string // who it runs as; "" is root
	Description string // "" names the unit
	Steps       []Section
}

// hardening is what a job rarely misses; all of it goes with the hook, whose
// needs are kept.
var hardening = [][2]string{
	{"ProtectHome", "yes"}, {"NoNewPrivileges", "yes"}, {"PrivateDevices", "yes"}, {"ProtectClock", "yes"},
	{"ProtectControlGroups", "yes"}, {"ProtectHostname", "yes"}, {"ProtectKernelLogs", "yes"},
	{"ProtectKernelModules", "yes"}, {"ProtectKernelTunables", "yes"}, {"LockPersonality", "yes"},
	{"RestrictNamespaces", "yes"}, {"RestrictRealtime", "yes"}, {"RestrictSUIDSGID", "yes"},
	{"SystemCallArchitectures", "native"}, {"SystemCallFilter", "@system-service"}, {"SystemCallErrorNumber", "EPERM"},
	{"RestrictAddressFamilies", "AF_UNIX AF_INET AF_INET6"},
}

// Service returns the text of a hardened oneshot with its hooks and steps.
func (t Template) Service() (string, error) {
	name, err := ParseName(t.Name)
	if err != nil {
		return "", err
	}
	if name.Type != "service" {
		return "", fmt.Errorf("unit %q: only a service has hooks", t.Name)
	}
	if err := wirable(&Unit{Name: t.Name}, t.Binary); err != nil {
		return "", err
	}
	if t.Exec == "" {
		return "", fmt.Errorf("unit %q: no command line for its job", t.Name)
	}
	service := section("Service",
		"Type", "oneshot", "ExecStartPre", "-+"+t.Binary+" arm", "ExecStart", t.Exec, "ExecStopPost", "-"+t.Binary+" run",
		"TimeoutStartSec", "1h", "TimeoutStopSec", "90", "StateDirectory", "%N", "RuntimeDirectory", "%N",
		"ProtectSystem", "strict", "ReadWritePaths", writable)
	if t.User != "" {
		service.add("User", t.User, "CapabilityBoundingSet", "")
	} else {
		service.add("CapabilityBoundingSet", "CAP_DAC_OVERRIDE CAP_FOWNER")
	}
	if folders := t.shared(); len(folders) > 0 {
		service.add("ReadWritePaths", strings.Join(folders, " "))
	} else {
		service.add("PrivateTmp", "yes")
	}
	for _, line := range hardening {
		service.add(line[0], line[1])
	}
	sections := []*lines{section("Unit", "Description", t.description(), "OnFailure", "job-cleanup-failure@%n.service"), service}
	for _, s := range t.Steps {
		step := section(s.Name)
		for _, e := range s.Entries {
			step.add(e.Key, e.Value)
		}
		sections = append(sections, step)
	}
	return serialize(sections)
}

// shared are the machine's temporary folders that the steps clean: then the
// job works there, and not in private ones.
func (t Template) shared() []string {
	var folders []string
	for _, s := range t.Steps {
		for _, e := range s.Entries {
			for _, dir := range []string{"/tmp", "/var/tmp"} {
				if within(e.Value, dir) && !slices.Contains(folders, dir) {
					folders = append(folders, dir)
				}
			}
		}
	}
	return folders
}

func (t Template) description() string {
	if t.Description != "" {
		return t.Description
	}
	return "Job %N"
}

// Timer returns the text of a timer for a service: the calendar is that of
// systemd.time(7). A template's timer is a template too.
func Timer(service, calendar string) (string, error) {
	name, err := ParseName(service)
	if err != nil {
		return "", err
	}
	if name.Type != "service" || calendar == "" {
		return "", fmt.Errorf("timer of %q: it needs a service and a calendar", service)
	}
	return serialize([]*lines{
		section("Unit", "Description", "Start job %N"),
		// Machines must not all ask one server in the same second, and a run
		// that was missed while the machine was off is made up for.
		section("Timer", "OnCalendar", calendar, "Persistent", "yes", "RandomizedDelaySec", "1min"),
		section("Install", "WantedBy", "timers.target"),
	})
}

// lines is a section on its way to a file.
type lines struct{ unit.UnitSection }

func section(name string, pairs ...string) *lines {
	s := &lines{unit.UnitSection{Section: name}}
	s.add(pairs...)
	return s
}

// add appends keys, each with its value behind it.
func (s *lines) add(pairs ...string) {
	for pair := range slices.Chunk(pairs, 2) {
		s.Entries = append(s.Entries, &unit.UnitEntry{Name: pair[0], Value: pair[1]})
	}
}

// serialize writes sections. What would end a line or go on behind it would
// say something else than was meant.
func serialize(sections []*lines) (string, error) {
	var out []*unit.UnitSection
	for _, s := range sections {
		for _, e := range s.Entries {
			if strings.ContainsAny(e.Name+e.Value, "\n\r\x00") || strings.HasSuffix(e.Value, `\`) {
				return "", fmt.Errorf("%s=: %q can't stand on one line of a unit", e.Name, e.Value)
			}
		}
		out = append(out, &s.UnitSection)
	}
	text, err := io.ReadAll(unit.SerializeSections(out))
	if err != nil {
		return "", fmt.Errorf("write unit: %w", err)
	}
	return string(text), nil
}
