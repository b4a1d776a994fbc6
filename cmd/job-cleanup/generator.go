package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"job-cleanup/pkg/journal"
	"job-cleanup/pkg/unitfile"
)

// commandLine is what the program is told. Installed in a generator folder,
// under any name that ends in "-generator", it is called with folders alone.
func commandLine(args []string) []string {
	if len(args) == 0 {
		return nil
	}
	folder := filepath.Base(filepath.Dir(args[0]))
	inFolder := folder == "system-generators" || folder == "user-generators"
	if !inFolder && !strings.HasSuffix(args[0], "-generator") {
		return args[1:]
	}
	verb := []string{"generate", "generator", "--kmsg"}
	if folder == "user-generators" {
		verb = append(verb, "--user")
	}
	return slices.Concat(verb, []string{"--"}, args[1:])
}

// generator is the systemd generator. A machine boots whatever happens here:
// all that goes wrong is told and nothing more.
func (p *program) generator(o *options, m *making) {
	warn := p.warn
	if m.kmsg {
		if log, err := os.OpenFile("/dev/kmsg", os.O_WRONLY, 0); err == nil {
			defer log.Close()
			warn = func(next, format string, args ...any) { p.kernelLog(log, next, format, args...) }
		}
	}
	defer func() {
		if reason := recover(); reason != nil {
			warn(byHandInstead, "the generator broke off, units keep the hooks they have: %v", reason)
		}
	}()
	folders := o.args[1:]
	if len(folders) == 0 {
		warn("job-cleanup generate generator /run/systemd/generator", "generate generator needs the folder to write to: NORMAL [EARLY LATE]")
		return
	}
	search := (&site{program: p, opts: o}).search(o.user)
	search.Root = m.root
	search.Dirs = slices.DeleteFunc(search.Dirs, generated)
	_, errs := unitfile.Generate(search, folders[0], m.binary)
	for _, err := range errs {
		warn(byHandInstead, "%v", err)
	}
}

// generated reports whether a folder of the search path is one that generators
// write to. They run side by side, so what is there is half done.
func generated(dir string) bool {
	base, _, _ := strings.Cut(filepath.Base(dir), ".")
	return base == "generator"
}

// byHandInstead is what to do about a unit that got no wiring.
const byHandInstead = "job-cleanup generate dropin UNIT --output DIR can do it by hand"

// kernelLog writes one warning, its next step included, in the form that the
// kernel's log takes.
func (p *program) kernelLog(log io.Writer, next, format string, args ...any) {
	const warning = 4
	text := fmt.Sprintf(format, args...) + "; " + next
	fmt.Fprintf(log, "<%d>job-cleanup-generator[%d]: %s\n", warning, p.pid, journal.Escape(text))
}
