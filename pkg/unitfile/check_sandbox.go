package unitfile

import (
	"slices"
	"strings"

	"job-cleanup/pkg/residue"
)

// sandboxChecks look at what the hook can reach in the unit's sandbox.
var sandboxChecks = []check{
	{"ledger-read-only", Err, ledgerReadOnly,
		"the file system is read-only for the hook, and with it the ledger: what is owed would not be written down",
		"add to [Service]: ReadWritePaths=" + writable},
	{"no-network", Err, noNetwork,
		"{} keeps the hook from the servers of its plan",
		"remove it, or for the residue on this machine alone keep it and move the other steps to a unit with a network"},
	{"private-tmp-plus", Err, privateTmpPlus,
		"the hook's \"+\" makes it see the machine's {}, not the private one of the job",
		"drop the \"+\", or the step: a private /tmp and /var/tmp go with the unit"},
	{"private-tmp-disconnected", Warn, privateTmpDisconnected,
		"PrivateTmp=disconnected gives the hook a new {}, without what the job left",
		"write PrivateTmp=yes, or drop the step: a private /tmp and /var/tmp go with the unit"},
	{"root-directory", Err, rootDirectory,
		"{} hides the program and the ledger from the hook",
		"add to [Service]: BindReadOnlyPaths=/usr/bin/job-cleanup and BindPaths=" + writable},
	{"dynamic-tracked", Warn, dynamicTracked,
		"what a dynamic user tracks waits for this unit's next run: no sweep may act for a user that is gone",
		"name a lasting user with User= and remove DynamicUser=, or name what it leaves in an [X-Cleanup.KIND] section"},
}

func ledgerReadOnly(f *Facts) []place {
	e, ok := f.setting("Service", "ProtectSystem")
	if !ok {
		e, _ = f.setting("Service", "DynamicUser")
	}
	missing := !f.lists("/var/lib/job-cleanup", "ReadWritePaths") || !f.lists("/run/job-cleanup", "ReadWritePaths")
	return when(strict(f.Unit) && len(f.hooks("run")) > 0 && !f.privileged() && missing, e, "")
}

// lists reports whether a list of paths has this one, or one above it.
func (f *Facts) lists(path string, keys ...string) bool {
	for _, value := range f.Unit.entries("Service", keys...) {
		words, _ := words(value.Value)
		for _, fields := range words {
			if dir := strings.TrimLeft(fields[0], "-+"); dir != "" && within(path, dir) {
				return true
			}
		}
	}
	return false
}

// here are the kinds whose residue is on this machine; those of any other are
// on a server.
var here = []string{"path", "lockfile", "command", "unit", "aws"}

// remote reports whether a step of the plan needs a network. A server that is
// named by its socket does not.
func (f *Facts) remote() bool {
	return slices.ContainsFunc(f.Specs, func(s residue.Spec) bool {
		local := slices.ContainsFunc([]string{"Address", "Host"}, func(key string) bool {
			return strings.HasPrefix(s.Option(key), "/") || strings.HasPrefix(s.Option(key), "unix:")
		})
		return !slices.Contains(here, s.Kind) && !local
	})
}

func noNetwork(f *Facts) []place {
	if !f.remote() {
		return nil
	}
	if e, on := f.switched("PrivateNetwork"); on {
		return []place{{e, "PrivateNetwork=yes"}}
	}
	if e, ok := f.setting("Service", "IPAddressDeny"); ok {
		if _, allowed := f.setting("Service", "IPAddressAllow"); !allowed {
			return []place{{e, "IPAddressDeny=" + e.Value}}
		}
	}
	e, ok := f.setting("Service", "RestrictAddressFamilies")
	some := slices.ContainsFunc(f.Unit.Values("Service", "RestrictAddressFamilies"), func(v string) bool {
		return strings.Contains(v, "AF_INET") != strings.HasPrefix(v, "~")
	})
	return when(ok && !some, e, "RestrictAddressFamilies= without AF_INET")
}

// tmpStep returns the first step that removes files below /tmp or /var/tmp.
func (f *Facts) tmpStep() (string, bool) {
	for _, s := range f.Specs {
		for _, dir := range []string{"/tmp", "/var/tmp"} {
			if (s.Kind == "path" || s.Kind == "lockfile") && within(s.Value, dir) {
				return dir, true
			}
		}
	}
	return "", false
}

func privateTmpPlus(f *Facts) []place {
	dir, found := f.tmpStep()
	word := strings.ToLower(f.Unit.Last("Service", "PrivateTmp"))
	on, _ := Boolean(word)
	if !found || !on && word != "connected" && word != "disconnected" {
		return nil
	}
	for _, h := range f.hooks("run") {
		if strings.Contains(h.Prefix, "+") {
			return []place{{h.Entry, dir}}
		}
	}
	return nil
}

func privateTmpDisconnected(f *Facts) []place {
	dir, found := f.tmpStep()
	e, _ := f.setting("Service", "PrivateTmp")
	return when(found && strings.EqualFold(e.Value, "disconnected"), e, dir)
}

func rootDirectory(f *Facts) []place {
	hooks := f.hooks("run")
	if len(hooks) == 0 || f.privileged() {
		return nil
	}
	for _, key := range []string{"RootDirectory", "RootImage"} {
		e, ok := f.setting("Service", key)
		if ok && e.Value != "/" && (!f.lists(hooks[0].Command, "BindReadOnlyPaths", "BindPaths") ||
			!f.lists("/var/lib/job-cleanup", "BindPaths") || !f.lists("/run/job-cleanup", "BindPaths")) {
			return []place{{e, key + "="}}
		}
	}
	return nil
}

func dynamicTracked(f *Facts) []place {
	dynamic, on := f.switched("DynamicUser")
	if !on {
		return nil
	}
	for _, line := range f.Unit.entries("Service", "ExecStartPre", "ExecStart", "ExecStartPost") {
		if h, ok := hook(line); ok && h.Verb == "track" {
			return []place{{dynamic, ""}}
		}
	}
	return nil
}
