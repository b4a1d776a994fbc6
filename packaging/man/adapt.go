package main

import (
	"fmt"
	"regexp"
	"strings"
)

// adapt turns a page for a forge into one for the converter: the head and the
// NAME section that man wants, headings in capitals, tables as lists of terms,
// references to manual pages instead of links.
func (p page) adapt(text string, f foot) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s %d %q %q %q\n\n", strings.ToUpper(p.name), p.section, f.date, "job-cleanup "+f.version, "job-cleanup")
	fmt.Fprintf(&b, "## NAME\n\n%s - %s\n\n", p.name, p.what)
	var rows []string
	inCode, described := false, false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "```") {
			inCode = !inCode
		}
		if !inCode && strings.HasPrefix(line, "|") {
			rows = append(rows, line)
			continue
		}
		b.WriteString(terms(rows))
		rows = nil
		switch {
		case inCode || strings.HasPrefix(line, "```"):
		case strings.HasPrefix(line, "# "), strings.HasPrefix(line, "<!--"):
			continue
		case strings.HasPrefix(line, "## "):
			line, described = heading(line), true
		case !described && line != "":
			b.WriteString("## DESCRIPTION\n\n")
			described = true
			fallthrough
		default:
			line = prose(line)
		}
		b.WriteString(line + "\n")
	}
	b.WriteString(terms(rows))
	return b.String()
}

// heading is a section's heading. One that is the name of a plan's section
// stays as it is written there.
func heading(line string) string {
	if strings.HasPrefix(line, "## [") {
		return line
	}
	return strings.ToUpper(line)
}

var (
	code   = regexp.MustCompile("`[^`]*`")
	link   = regexp.MustCompile(`\[([^\]]*)\]\(([^)]*)\)`)
	manual = regexp.MustCompile(`\b([a-zA-Z][\w.-]*)\(([1-8])\)`)
)

// prose makes references of links, and leaves code alone. What stands on a
// forge only is its text.
func prose(line string) string {
	var b strings.Builder
	end := 0
	for _, span := range code.FindAllStringIndex(line, -1) {
		b.WriteString(references(line[end:span[0]]) + line[span[0]:span[1]])
		end = span[1]
	}
	return b.String() + references(line[end:])
}

func references(text string) string {
	text = link.ReplaceAllStringFunc(text, func(found string) string {
		parts := link.FindStringSubmatch(found)
		for _, p := range pages {
			if parts[2] == p.source {
				return fmt.Sprintf("%s(%d)", p.name, p.section)
			}
		}
		if strings.Contains(parts[2], "://") {
			return found
		}
		return parts[1]
	})
	return manual.ReplaceAllString(text, "**$1**($2)")
}
