package aws

import (
	"strings"
	"time"
	"unicode"

	"job-cleanup/pkg/residue"
)

// copied is one copy of a session.
type copied struct {
	session
	mount string    // where its file system hangs
	born  time.Time // when its file was made; zero where that tells nothing
}

// ours picks the copies that are provably this job's.
func (c *cleaner) ours(copies []copied, proof map[string]string) ([]residue.Residue, error) {
	var found []residue.Residue
	want := proof[keyID]
	if want == "" {
		want = c.spec.Option("AccessKeyID")
	}
	for _, s := range copies {
		switch {
		case want != "" && s.id != want: // somebody else's under the same name
		case proof[keyID] != "":
			found = append(found, *c.spec.Tracked)
		case want != "" || c.own || c.within(s.born):
			found = append(found, c.residue(s))
		default:
			return nil, residue.Errorf(residue.Refused, residue.Protected, "nothing says that %q is this job's", c.ref)
		}
	}
	if len(found) == 0 && len(copies) > 0 {
		return nil, residue.Errorf(residue.Lost, residue.Changed, "%q holds another session than %s", c.ref, want)
	}
	return found, nil
}

// residue is what is recorded of a copy.
func (c *cleaner) residue(s copied) residue.Residue {
	r := residue.Residue{Type: "cache", Ref: c.ref, Expires: s.ends, Proof: map[string]string{inFile: c.path, onMount: s.mount}}
	if c.profile() {
		r.Type = "profile"
	}
	if s.id != "" {
		r.Proof[keyID] = s.id
	}
	if s.bounded {
		r.Proof[expires] = "at-most"
	}
	r.Identify()
	return r
}

// within reports whether t is a time within the job.
func (c *cleaner) within(t time.Time) bool {
	return !t.IsZero() && !c.job.Start.IsZero() && !t.Before(c.job.Start) && (c.job.End.IsZero() || !t.After(c.job.End))
}

// carries reports whether a name tells the job from others: it has the
// invocation, the unit or its instance in it as a word; or, since a CI job's
// invocation is made of several, one of those that has a number.
func carries(name string, job residue.Job) bool {
	unit := job.Unit
	if dot := strings.LastIndexByte(unit, '.'); dot > 0 {
		unit = unit[:dot]
	}
	_, instance, _ := strings.Cut(unit, "@")
	words := []string{job.Invocation, unit, instance}
	if job.CI {
		for _, w := range strings.FieldsFunc(job.Invocation, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			if len(w) >= 4 && strings.ContainsFunc(w, unicode.IsDigit) {
				words = append(words, w)
			}
		}
	}
	for _, w := range words {
		if hasWord(name, w) {
			return true
		}
	}
	return false
}

// hasWord reports whether word stands in name with neither a letter nor a
// digit beside it.
func hasWord(name, word string) bool {
	inner := func(s string) bool {
		return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
	}
	if !inner(word) {
		return false
	}
	for at := 0; ; at++ {
		i := strings.Index(name[at:], word)
		if i < 0 {
			return false
		}
		at += i
		before, after := name[:at], name[at+len(word):]
		if !inner(before[max(0, len(before)-1):]) && !inner(after[:min(1, len(after))]) {
			return true
		}
	}
}
