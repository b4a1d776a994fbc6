package unitfile

import (
	"path/filepath"
	"slices"
	"strings"
)

// wiringChecks look at the lines that call job-cleanup.
var wiringChecks = []check{
	{"no-hook", Err, noHook,
		"nothing runs this plan: no ExecStopPost= line calls job-cleanup run",
		"add to [Service]: ExecStopPost=-/usr/bin/job-cleanup run"},
	{"no-dash", Err, noDash,
		"{}= without \"-\": a cleanup that fails, or a missing program, fails the job",
		"put a \"-\" before the program: {}=-/usr/bin/job-cleanup …"},
	{"strict-dash", Err, strictDash,
		"the \"-\" of {}= has the service manager ignore the strict exit status",
		"leave the \"-\" away: {}=/usr/bin/job-cleanup run …"},
	{"unescaped-variable", Err, unescapedVariable,
		"the service manager expands {} on this line itself, an unset one to nothing",
		"write ${} here, or put the step into an [X-Cleanup.KIND] section"},
	{"credential-without-arm", Err, credentialWithoutArm,
		"{} can't be read after the job: credentials are only there before it",
		"add to [Service]: ExecStartPre=-+/usr/bin/job-cleanup arm"},
	{"user-unswept", Warn, userUnswept,
		"what the hook can't remove as user {} is recorded where no sweep looks",
		"add to [Service]: ExecStartPre=-+/usr/bin/job-cleanup arm"},
	{"ledger-aged", Err, ledgerAged,
		"the ledger is kept below {}, where old files are removed",
		"leave --state-dir away, or name a folder below /var/lib"},
}

func noHook(f *Facts) []place {
	service := strings.HasSuffix(f.Unit.Name, ".service")
	if !service || len(f.steps()) == 0 || len(f.hooks("run")) > 0 {
		return nil
	}
	return []place{f.whole()}
}

func noDash(f *Facts) []place {
	var out []place
	for _, h := range slices.Concat(f.hooks("arm"), f.hooks("run")) {
		if !strings.Contains(h.Prefix, "-") && !f.strict(h) {
			out = append(out, place{h.Entry, h.Key})
		}
	}
	return out
}

func strictDash(f *Facts) []place {
	var out []place
	for _, h := range f.hooks("run") {
		if strings.Contains(h.Prefix, "-") && f.strict(h) {
			out = append(out, place{h.Entry, h.Key})
		}
	}
	return out
}

// strict reports whether a hook is meant to fail the job when something is
// left.
func (f *Facts) strict(h Hook) bool {
	return h.Verb == "run" && (f.Strict || slices.Contains(strings.Fields(h.Value), "--strict"))
}

func unescapedVariable(f *Facts) []place {
	var out []place
	for _, h := range Hooks(f.Unit) {
		if strings.Contains(h.Prefix, ":") { // nothing is expanded then
			continue
		}
		if name := variable(h.Value); name != "" {
			out = append(out, place{h.Entry, name})
		}
	}
	return out
}

// variable returns the first $NAME or ${NAME} of a line that the manager would
// expand; "$$" is a dollar sign.
func variable(line string) string {
	for i := 0; i+1 < len(line); i++ {
		if line[i] != '$' {
			continue
		}
		switch c := line[i+1]; {
		case c == '$':
			i++
		case c == '{':
			if name, _, ok := strings.Cut(line[i:], "}"); ok {
				return name + "}"
			}
		case c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			return strings.FieldsFunc(line[i:], func(r rune) bool { return strings.ContainsRune(" \t\"'/:,.;", r) })[0]
		}
	}
	return ""
}

func credentialWithoutArm(f *Facts) []place {
	if len(f.hooks("arm")) > 0 || f.Unit.Name == "" { // a plan alone has no wiring
		return nil
	}
	var out []place
	for _, s := range f.steps() {
		for _, e := range s.Entries {
			if strings.HasPrefix(e.Value, "credential:") {
				out = append(out, place{e, e.Value})
			}
		}
	}
	return out
}

func userUnswept(f *Facts) []place {
	e, _ := f.setting("Service", "User")
	plain := e.Value != "" && e.Value != "root" && e.Value != "0"
	return when(plain && len(f.hooks("arm")) == 0 && len(f.hooks("run")) > 0 && !f.privileged(), e, e.Value)
}

func ledgerAged(f *Facts) []place {
	var out []place
	for _, h := range Hooks(f.Unit) {
		words, _ := commandWords(h.Value)
		for i, w := range words {
			dir, ok := strings.CutPrefix(w, "--state-dir=")
			if w == "--state-dir" && i+1 < len(words) {
				dir, ok = words[i+1], true
			}
			if ok && inTmp(filepath.Clean(dir)) {
				out = append(out, place{h.Entry, dir})
			}
		}
	}
	return out
}

// inTmp reports whether a path, specifiers included, lies in a folder that
// systemd-tmpfiles empties by age.
func inTmp(path string) bool {
	return slices.ContainsFunc([]string{"/tmp", "/var/tmp", "%T", "%V"}, func(dir string) bool { return within(path, dir) })
}
