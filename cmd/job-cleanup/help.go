package main

import (
	"fmt"
	"io"
	"strings"
)

// help prints the list of verbs, or the help of one.
func (p *program) help(about []string) int {
	if len(about) > 0 {
		v := findVerb(about[0])
		if v == nil {
			return p.failed(nil, usagef(nearestVerb(about[0]), "unknown verb %q", about[0]))
		}
		return p.verbHelp(v)
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
	return p.say(nil, text.String())
}

func (p *program) verbHelp(v *verb) int {
	var text strings.Builder
	fmt.Fprintf(&text, "Usage: job-cleanup %s\n\n", strings.TrimSpace(v.name+" [OPTION]... "+v.args))
	text.WriteString(hang("", v.long))
	if usages := v.flags(&options{}).FlagUsagesWrapped(width); usages != "" {
		fmt.Fprintf(&text, "\nOptions:\n%s\n", strings.TrimRight(usages, "\n"))
	}
	return p.say(v, text.String())
}

// say prints a help text, of a verb if it is one's.
func (p *program) say(v *verb, text string) int {
	if _, err := io.WriteString(p.stdout, text); err != nil {
		return p.failed(v, err)
	}
	return exitDone
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
