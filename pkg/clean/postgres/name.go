package postgres

import (
	"strings"
	"unicode/utf8"

	"job-cleanup/pkg/residue"
)

// maxName is the longest identifier in bytes. The server silently cuts longer
// ones, and would then find another thing.
const maxName = 63

// maxGID is the longest identifier of a prepared transaction.
const maxGID = 199

func refused(format string, args ...any) error {
	return residue.Errorf(residue.Refused, residue.Other, format, args...)
}

func protected(format string, args ...any) error {
	return residue.Errorf(residue.Refused, residue.Protected, format, args...)
}

func lost(format string, args ...any) error {
	return residue.Errorf(residue.Lost, residue.Changed, format, args...)
}

// checkName refuses what can't be an identifier.
func checkName(what, name string) error { return checkLength(what, name, maxName) }

func checkGID(name string) error { return checkLength("transaction identifier", name, maxGID) }

func checkLength(what, name string, most int) error {
	switch {
	case name == "":
		return refused("the name of the %s is empty", what)
	case len(name) > most:
		return refused("%s %q is longer than %d bytes", what, name, most)
	case strings.ContainsRune(name, 0), !utf8.ValidString(name):
		return refused("%s %q is not text", what, name)
	}
	return nil
}

// systemSchema reports whether a schema is the server's own.
func systemSchema(name string) bool {
	return strings.HasPrefix(name, "pg_") || name == "information_schema"
}

// checkSchema refuses schemas that are never a job's.
func checkSchema(name string) error {
	if systemSchema(name) || name == "public" {
		return protected("schema %q is never a job's", name)
	}
	return checkName("schema", name)
}

// checkDatabase refuses databases that are never a job's.
func checkDatabase(name string) error {
	if name == "postgres" || strings.HasPrefix(name, "template") {
		return protected("database %q is never a job's", name)
	}
	return checkName("database", name)
}

// quote writes an identifier as SQL does. Whatever stands in it is part of the
// name.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// table is a table by schema and name, as the catalogs have them.
type table struct{ schema, name string }

// sql is the table in a statement.
func (t table) sql() string { return quote(t.schema) + "." + quote(t.name) }

// parseTable reads SCHEMA.TABLE. Without a schema the search path would
// decide. A name with a dot in it stands in double quotes, doubled inside; case
// counts with and without them.
func parseTable(text string) (table, error) {
	first, rest, ok := cutName(text)
	if ok && strings.HasPrefix(rest, ".") {
		second, rest, ok := cutName(rest[1:])
		t := table{first, second}
		if ok && rest == "" {
			return t, t.check()
		}
	}
	return table{}, refused("%q is not SCHEMA.TABLE", text)
}

func (t table) check() error {
	if systemSchema(t.schema) {
		return protected("a table of schema %q is never a job's", t.schema)
	}
	if err := checkName("schema", t.schema); err != nil {
		return err
	}
	return checkName("table", t.name)
}

// cutName takes one name from the front of a text.
func cutName(text string) (name, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		end := strings.IndexByte(text, '.')
		if end < 0 {
			end = len(text)
		}
		name = text[:end]
		return name, text[end:], name != "" && !strings.Contains(name, `"`)
	}
	for at := 1; ; {
		end := strings.IndexByte(text[at:], '"')
		if end < 0 {
			return "", "", false
		}
		at += end + 1
		if !strings.HasPrefix(text[at:], `"`) {
			return strings.ReplaceAll(text[1:at-1], `""`, `"`), text[at:], true
		}
		at++
	}
}
