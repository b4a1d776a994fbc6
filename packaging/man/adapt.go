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
	described := false
	for _, block := range blocks(text) {
		first := block[0]
		switch {
		case strings.HasPrefix(first, "# "), strings.HasPrefix(first, "<!--"):
			continue
		case strings.HasPrefix(first, "## "):
			described = true
		case !described && first != "":
			b.WriteString("## DESCRIPTION\n\n")
			described = true
		}
		b.WriteString(adapted(block) + "\n")
	}
	return b.String()
}

// adapted is one block of a page.
func adapted(block []string) string {
	switch first := block[0]; {
	case strings.HasPrefix(first, "```"):
		return strings.Join(block, "\n")
	case strings.HasPrefix(first, "|"):
		return terms(block)
	case strings.HasPrefix(first, "## "):
		return heading(first)
	}
	return prose(strings.Join(block, "\n"))
}

// blocks are the parts of a page that are looked at as a whole: a table, code
// with its fences, a heading or comment, an empty line, a run of text.
func blocks(text string) [][]string {
	var all [][]string
	last := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		kind := lineKind(line)
		switch {
		case last == "code":
			kind = "code"
			if strings.HasPrefix(line, "```") {
				kind = "" // the next line begins something else
			}
			fallthrough
		case kind == last && (kind == "text" || kind == "table"):
			all[len(all)-1] = append(all[len(all)-1], line)
		default:
			all = append(all, []string{line})
		}
		last = kind
	}
	return all
}

func lineKind(line string) string {
	switch {
	case strings.HasPrefix(line, "```"):
		return "code"
	case strings.HasPrefix(line, "|"):
		return "table"
	case line == "", strings.HasPrefix(line, "#"), strings.HasPrefix(line, "<!--"):
		return "alone"
	}
	return "text"
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
