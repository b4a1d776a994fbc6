package plan

import "strings"

// maxPath is the kernel's limit for one path, its end included.
const maxPath = 4096

// checkPath reads an absolute path, or a pattern of one. Doubled slashes go;
// one at the end stays, for it says "only a folder". Dots are refused instead
// of resolved: what they mean depends on links.
func checkPath(raw, text string, glob bool) (string, error) {
	if !strings.HasPrefix(text, "/") {
		return "", faultf(pathHint(raw), "%q is not an absolute path", raw)
	}
	if strings.Contains(strings.ReplaceAll(raw, `\ `, ""), " /") {
		return "", faultf("write one path per line", "%q looks like two paths", raw)
	}
	var b strings.Builder
	for part := range strings.SplitSeq(text, "/") {
		name := part
		if glob {
			name = unescapeGlob(part)
		}
		switch {
		case name == "." || name == "..":
			return "", faultf("write the path that is meant", "%q holds a %q component", raw, name)
		case glob && strings.HasSuffix(name, "\\\x00"):
			return "", faultf(`write \\ for a backslash`, "%q holds a backslash that escapes nothing", raw)
		case part != "":
			b.WriteByte('/')
			b.WriteString(part)
		}
	}
	if strings.HasSuffix(text, "/") {
		b.WriteByte('/')
	}
	if b.Len() >= maxPath {
		return "", faultf("", "the path is longer than %d bytes", maxPath-1)
	}
	return b.String(), nil
}

// pathHint guesses what somebody meant who wrote no absolute path.
func pathHint(raw string) string {
	switch {
	case strings.HasPrefix(raw, "~"):
		return "write %h for the home folder"
	case strings.HasPrefix(raw, `"`), strings.HasPrefix(raw, "'"):
		return "write it without quotes; blanks need none"
	}
	return "begin it with a slash"
}

// unescapeGlob takes the escaping backslashes out of a component, so that it
// can be compared with names. One that escapes nothing is left, with a NUL
// behind it, which no name holds.
func unescapeGlob(part string) string {
	var b strings.Builder
	for i := 0; i < len(part); i++ {
		if part[i] == '\\' {
			i++
			if i == len(part) {
				return b.String() + "\\\x00"
			}
		}
		b.WriteByte(part[i])
	}
	return b.String()
}
