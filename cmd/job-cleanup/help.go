package main

import (
	"fmt"
	"strings"
)

// help prints the list of verbs, or the help of one.
func (p *program) help(about []string) int {
	if len(about) > 0 {
		v := findVerb(about[0])
		if v == nil {
			return p.failed(nil, usagef(nearestVerb(about[0]), "unknown verb %q", about[0]))
		}
		p.verbHelp(v)
		return exitDone
	}
	var text strings.Builder
	text.WriteString("job-cleanup removes what one job left behind, however that job ended.\n\n")
	text.WriteString("Usage: job-cleanup VERB [OPTION]...\n\nVerbs:\n")
	for _, v := range verbs() {
		if !v.hidden {
			fmt.Fprintf(&text, "  %-8s %s\n", v.name, v.short)
		}
	}
	text.WriteString("  help     this text, or the help of a verb\n")
	text.WriteString("\nIn a unit:\n")
	text.WriteString("  ExecStartPre=-+/usr/bin/job-cleanup arm\n")
	text.WriteString("  ExecStopPost=-/usr/bin/job-cleanup run\n")
	text.WriteString("\nExit status:\n")
	for _, row := range exitTable {
		text.WriteString(hang(fmt.Sprintf("  %-3d  ", row.code), row.text))
	}
	text.WriteString("\nManual pages: job-cleanup(1), job-cleanup-plan(5), job-cleanup(7).\n")
	fmt.Fprint(p.stdout, text.String())
	return exitDone
}

func (p *program) verbHelp(v *verb) {
	fmt.Fprintf(p.stdout, "Usage: job-cleanup %s\n\n", strings.TrimSpace(v.name+" [OPTION]... "+v.args))
	fmt.Fprint(p.stdout, hang("", v.long))
	if usages := v.flags(&options{}).FlagUsagesWrapped(width); usages != "" {
		fmt.Fprintf(p.stdout, "\nOptions:\n%s\n", strings.TrimRight(usages, "\n"))
	}
}

// nearestVerb is the hint for a verb that does not exist.
func nearestVerb(word string) string {
	for _, v := range verbs() {
		if !v.hidden && (strings.HasPrefix(v.name, word) || strings.HasPrefix(word, v.name)) {
			return fmt.Sprintf("did you mean %q?", v.name)
		}
	}
	return "job-cleanup help lists the verbs"
}
