package plan

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"job-cleanup/pkg/expand"
	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
)

// value expands the text of a key and checks that it is what its type says.
// Yes/no come out as "yes" and "no", time spans as time.Duration writes them
// or "infinity", paths without doubled slashes; a command line as Record of
// package expand leaves it.
func (c *compiler) value(v residue.Value, raw string) (string, expand.Use, error) {
	if v == residue.Words {
		return expand.Record(raw, c.ctx.Specifiers, c.commandEnv())
	}
	r, err := expand.Expand(raw, c.ctx.Specifiers, c.ctx.Env)
	if err != nil {
		return "", r.Use, err
	}
	text, err := check(v, raw, r)
	return text, r.Use, err
}

// commandEnv is what command lines are checked with. Before the job has run
// every variable counts as set: they are expanded when the command is run.
func (c *compiler) commandEnv() func(string) (string, bool) {
	if !c.ctx.Early {
		return c.ctx.Env
	}
	return func(name string) (string, bool) { return name, true }
}

// check reads an expanded text as its type says. Messages quote the plan, not
// the expanded text.
func check(v residue.Value, raw string, r expand.Result) (string, error) {
	switch v {
	case residue.Path:
		return checkPath(raw, r.Text(), false)
	case residue.Glob:
		return checkPath(raw, r.Glob(), true)
	case residue.UnitName:
		return checkUnit(raw, r)
	case residue.Prefix:
		return checkPrefix(raw, r)
	case residue.Name:
		return checkName(raw, r)
	case residue.SecretRef:
		return checkSecret(r.Text())
	case residue.Bool:
		return checkBool(raw, r.Text())
	case residue.Span:
		return checkSpan(raw, r.Text())
	case residue.Number:
		n, err := strconv.ParseUint(r.Text(), 10, 63)
		if err != nil {
			return "", faultf("write decimal digits alone", "%q is not a number", raw)
		}
		return strconv.FormatUint(n, 10), nil
	}
	return r.Text(), nil
}

// checkBool reads yes and no in all the words of the service manager.
func checkBool(raw, text string) (string, error) {
	switch strings.ToLower(text) {
	case "yes", "y", "true", "t", "on", "1":
		return "yes", nil
	case "no", "n", "false", "f", "off", "0":
		return "no", nil
	}
	return "", faultf("write yes or no", "%q is neither yes nor no", raw)
}

// checkSpan reads a time span.
func checkSpan(raw, text string) (string, error) {
	d, err := expand.Span(text)
	switch {
	case err != nil && raw != text:
		return "", faultf("see the time spans in the reference", "%q is not a time span", raw)
	case err != nil:
		return "", err
	case d == expand.Infinity:
		return "infinity", nil
	}
	return d.String(), nil
}

// doubled are slashes that mean one.
var doubled = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("//+") })

// checkSecret reads a reference to a secret. The text is not repeated in
// messages: it may be the secret itself, written by mistake.
func checkSecret(text string) (string, error) {
	if name, ok := strings.CutPrefix(text, secret.File+":/"); ok {
		text = secret.File + ":" + doubled().ReplaceAllString("/"+name, "/") // a folder may come with a slash at its end
	}
	ref, err := secret.ParseRef(text)
	var r *secret.RefError
	if errors.As(err, &r) {
		return "", faultf(r.Hint, "%s", r.Problem)
	}
	return ref.String(), err
}
