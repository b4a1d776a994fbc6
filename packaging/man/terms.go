package main

import "strings"

// terms turns a table into a list of terms, which reads well at any width. The
// first column holds the terms. What is said of them stands in the column
// without a name, or in the second of two; the others follow behind their
// names.
func terms(rows []string) string {
	names := cells(rows[0])
	text := 1
	for i, name := range names {
		if name == "" {
			text = i
		}
	}
	var b strings.Builder
	for _, row := range rows[2:] {
		values := cells(row)
		b.WriteString(prose(values[0]) + "\n: ")
		b.WriteString(strings.Join(definition(names, values, text), "  \n    ") + "\n\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// definition lists the lines about one term: what it is, facts, an example.
func definition(names, values []string, text int) []string {
	var lines, facts, last []string
	if values[text] != "" {
		lines = append(lines, prose(values[text]))
	}
	for i := 1; i < len(values); i++ {
		switch {
		case i == text, values[i] == "", values[i] == "–":
		case names[i] == "example":
			last = append(last, "Example: "+values[i])
		default:
			facts = append(facts, names[i]+": "+prose(values[i]))
		}
	}
	if len(facts) > 0 {
		line := strings.Join(facts, "; ")
		lines = append(lines, strings.ToUpper(line[:1])+line[1:])
	}
	return append(lines, last...)
}

// cells splits a row of a table. A bar that is escaped is text.
func cells(row string) []string {
	row = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(row), "|"), "|")
	parts := strings.Split(strings.ReplaceAll(row, `\|`, "\x00"), "|")
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(strings.TrimSpace(part), "\x00", "|")
	}
	return parts
}
