package plan

import (
	"strings"
	"unicode"

	"job-cleanup/pkg/expand"
)

// delimiters end a prefix, so that jobs/1/ does not select jobs/10/.
const delimiters = "/-_.:"

// wildcards of a unit name's pattern.
const wildcards = "*?[]"

// identityHint tells how a value becomes this job's alone.
const identityHint = "put %i, %n, %p or a ${…} into it, so that it is this job's alone"

// checkPrefix reads the front of many names. It must end in a delimiter that
// stands in the plan itself, and carry the job's identity.
func checkPrefix(raw string, r expand.Result) (string, error) {
	n := len(r.Pieces) - 1
	if end := r.Pieces[n]; end.Origin != expand.Written || strings.IndexByte(delimiters, end.Text[len(end.Text)-1]) < 0 {
		return "", faultf("end it with one of "+strings.Join(strings.Split(delimiters, ""), " "),
			"prefix %q has no delimiter at its end and selects more than one job's", raw)
	}
	if !r.Some(telling) {
		return "", faultf(identityHint, "prefix %q is the same for every job", raw)
	}
	return r.Text(), nil
}

// checkName reads the name of one thing, which must carry the job's identity: a
// thing that every job of a unit shares is no residue of one of them.
func checkName(raw string, r expand.Result) (string, error) {
	if !r.Some(telling) {
		return "", faultf(identityHint, "name %q is the same for every job", raw)
	}
	return r.Text(), nil
}

// telling reports whether a piece tells one job from another. Punctuation
// alone, or a default, does not.
func telling(_ string, p expand.Piece, _ string) bool {
	return p.Identity && strings.IndexFunc(p.Text, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }) >= 0
}

// delimited reports whether a piece tells jobs apart although the name is a
// pattern: job-%i* would select job-10 for job-1.
func delimited(before string, p expand.Piece, after string) bool {
	return telling(before, p, after) &&
		!strings.ContainsAny(before[max(0, len(before)-1):], wildcards) &&
		!strings.ContainsAny(after[:min(1, len(after))], wildcards)
}

// checkUnit reads a unit's name or a pattern of some. A backslash in it is
// part of the name, as in x\x2dy.
func checkUnit(raw string, r expand.Result) (string, error) {
	for _, p := range r.Pieces {
		if p.Origin != expand.Written && strings.ContainsAny(p.Text, wildcards) {
			return "", faultf("only the plan itself can hold wildcards", "expanded text in %q holds a wildcard", raw)
		}
	}
	text := r.Text()
	if bad := strings.IndexFunc(text, notOfUnit); bad >= 0 || len(text) > 255 {
		return "", faultf("see systemd.unit(5); escape with systemd-escape(1)", "%q can't be the name of a unit", raw)
	}
	if !r.Some(telling) {
		return "", faultf(identityHint, "unit %q is the same for every job", raw)
	}
	if !r.Some(delimited) {
		return "", faultf("put a dash between them", "a wildcard touches the job's identity in %q and selects other jobs' units", raw)
	}
	return text, nil
}

// notOfUnit reports whether a character can't stand in a unit's name.
func notOfUnit(c rune) bool {
	return c > unicode.MaxASCII || !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune(`:-_.\@*?[]!`, c)
}
