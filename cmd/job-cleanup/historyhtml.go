package main

import (
	"bufio"
	"crypto/sha256"
	_ "embed" // for the style
	"encoding/base64"
	"io"
	"strconv"
)

//go:embed assets/history.css
var pageStyle string

// pageMarks are the shapes of the timeline's marks, one for each ending: colour
// is never the only sign.
//
//go:embed assets/marks.svg
var pageMarks string

// write writes the page. Its policy admits this one style sheet, no script, and
// no request at all.
func (v *pageView) write(out io.Writer) error {
	m := markup{bufio.NewWriter(out)}
	v.head(m)
	m.put("<body>\n")
	_, _ = m.out.WriteString(pageMarks) // its error stays in the writer
	m.put("<main>\n")
	v.header(m)
	if len(v.Owed) > 0 {
		v.owed(m)
	}
	if len(v.Lanes) > 0 {
		v.timeline(m)
	}
	if len(v.Runs) > 0 {
		v.table(m)
	}
	m.put("<footer>Made by job-cleanup %v, %v. It believes what root sent and what a unit sent about itself.</footer>\n", v.Version, v.Made)
	m.put("</main>\n</body>\n</html>\n")
	return m.out.Flush()
}

func (v *pageView) head(m markup) {
	hash := sha256.Sum256([]byte(pageStyle))
	m.put("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	// Escaping makes &#43; of the plus signs in it, which a browser reads back.
	m.put("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-%v'; base-uri 'none'; form-action 'none'\">\n",
		base64.StdEncoding.EncodeToString(hash[:]))
	m.put("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"color-scheme\" content=\"light dark\">\n")
	m.put("<title>Cleanups")
	m.some(v.Hosts, " on %v")
	m.put("</title>\n<style>")
	_, _ = m.out.WriteString(pageStyle)
	m.put("</style>\n</head>\n")
}

// header is the answer in a sentence and in numbers.
func (v *pageView) header(m markup) {
	m.put("<header>\n<p class=\"where\">Cleanups")
	m.some(v.Hosts, " on <bdi>%v</bdi>")
	m.put("</p>\n<h1 class=\"%v\">%v</h1>\n", v.State, v.Headline)
	m.put("<p class=\"range\"><time>%v</time> to <time>%v</time> %v", v.From, v.To, v.Zone)
	m.some(v.Asked, ", asked for <code><bdi>%v</bdi></code>")
	m.put("</p>\n")
	if len(v.Facts) > 0 {
		m.put("<ul class=\"facts\">")
		for _, f := range v.Facts {
			m.put("<li class=\"%v\"><b>%v</b> <span>%v</span></li>", f.Class, f.Value, f.Label)
		}
		m.put("</ul>\n")
	}
	m.put("</header>\n")
}

// owed lists what is owed, with a link to the run that owes it.
func (v *pageView) owed(m markup) {
	m.put("<section aria-labelledby=\"owed\"><h2 id=\"owed\">Still owed</h2>\n<ol class=\"owed\">\n")
	for _, o := range v.Owed {
		m.put("<li><p class=\"what\"><span class=\"kind\">%v</span> <bdi class=\"ref\">%v</bdi></p>\n<p class=\"why\">", o.Kind, o.Ref)
		m.some(o.Reason, "<b>%v</b>, ")
		m.put("for <b>%v</b>, %v", o.Age, o.Tries)
		m.some(o.Detail, ": <bdi>%v</bdi>")
		m.put("</p>\n<p class=\"of\">")
		if o.Row > 0 {
			m.put("<a href=\"#r%v\"><bdi>%v</bdi></a>", o.Row, o.Unit)
		} else {
			m.put("<bdi>%v</bdi>", o.Unit)
		}
		m.put(", since %v</p></li>\n", o.Since)
	}
	m.put("</ol>\n<p class=\"note\">")
	m.some(more(v.MoreOwed), "%v more are not listed here. ")
	m.put("This is what the journal told until %v; <code>job-cleanup status</code> tells what is owed at this moment.</p>\n</section>\n", v.Made)
}

// more is a number of what is left out, "" for none.
func more(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
