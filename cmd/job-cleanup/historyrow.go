package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"job-cleanup/pkg/journal"
	"job-cleanup/pkg/outcome"
)

// pageRun is a row of the table, and what it opens to.
type pageRun struct {
	Row                             int
	When, Unit, Invocation, ShortID string
	Class                           endingClass
	Ending, Took, Debt              string
	Removed, Absent                 string
	Bad, Open                       bool
	Residues                        []pageResidue
	More                            []string
	Passes                          []pagePass
	Notes                           []string
	Command                         string
}

// pageResidue is one line of an opened row.
type pageResidue struct {
	Status, Class, Kind, Ref, Reason, Detail, Tries, Took string
}

// pagePass is one cleanup of the job.
type pagePass struct{ When, Text string }

func newPageRun(j *pastJob, row int, in *time.Location) pageRun {
	first := j.passes[0]
	open, _ := j.owes()
	r := pageRun{
		Row: row, When: stamp(first.end.In(in)), Unit: onPage(j.unit), Invocation: onPage(j.invocation), ShortID: onPage(shortID(j.invocation)),
		Class: classOf(j.outcome), Ending: endingText(j.outcome), Took: span(first.took), Debt: j.debtText(), Open: open > 0,
		Removed: count(j.total(journal.Removed)), Absent: count(j.total(journal.Absent)), Bad: classOf(j.outcome).bad(),
	}
	for _, line := range j.residues {
		r.Residues = append(r.Residues, newPageResidue(line))
	}
	for _, status := range residueEvents {
		if n := j.more[status]; n > 0 {
			r.More = append(r.More, number(n)+" more "+string(status))
		}
	}
	if len(j.passes) > 1 || first.by != "" || first.cut {
		r.passes(j, in)
	}
	for _, note := range j.notes {
		r.Notes = append(r.Notes, onPage(note))
	}
	// It is there to be copied into a shell, and a job may have made up its id.
	if !strings.HasPrefix(j.invocation, "-") && j.invocation != "" && outcome.FileName(j.invocation) == j.invocation {
		r.Command = "job-cleanup history --invocation " + r.Invocation
	}
	return r
}

// trim leaves out what a page has no room for any more.
func (r *pageRun) trim(room *int) {
	if left := len(r.Residues) - *room; left > 0 {
		r.Residues = r.Residues[:*room]
		r.More = append(r.More, counted(left, "more line")+" left out; this lists them:")
	}
	*room -= len(r.Residues)
}

// mostPasses is how many cleanups of one job are listed, the first and the
// last ones.
const mostPasses = 12

func (r *pageRun) passes(j *pastJob, in *time.Location) {
	passes := slices.Clone(j.passes)
	if left := len(passes) - mostPasses; left > 0 {
		passes = slices.Delete(passes, mostPasses/2, mostPasses/2+left)
		defer func() {
			r.Passes = slices.Insert(r.Passes, mostPasses/2, pagePass{"…", counted(left, "more pass") + "es"})
		}()
	}
	for i, pass := range passes {
		text := pass.text()
		if pass.took > 0 && pass.took < maxTook {
			text += " in " + span(pass.took)
		}
		if pass.by != "" {
			text += ", by " + onPage(pass.by)
		}
		if pass.cut {
			text += "; it was cut off, or goes on"
		}
		if later := pass.end.Sub(j.passes[0].end); i > 0 && later > time.Second {
			text = span(later) + " later: " + text
		}
		r.Passes = append(r.Passes, pagePass{stamp(pass.end.In(in)), text})
	}
}

// text is what a cleanup came to.
func (p pastPass) text() string {
	var parts []string
	for _, status := range residueEvents {
		if n := p.counts[status]; n > 0 {
			parts = append(parts, number(n)+" "+string(status))
		}
	}
	if len(parts) == 0 {
		return "nothing to do"
	}
	return strings.Join(parts, ", ")
}

func newPageResidue(line pastResidue) pageResidue {
	r := pageResidue{
		Status: string(line.status), Class: string(line.status), Kind: onPage(line.kind), Ref: onPage(line.ref),
		Reason: onPage(line.reason), Detail: onPage(line.detail), Tries: count(line.attempt), Took: span(line.took),
	}
	if line.took == 0 {
		r.Took = ""
	}
	if line.count > 1 {
		r.Ref = strings.TrimSpace(number(line.count) + " more " + r.Ref)
	}
	if d := line.debt; d != nil {
		r.Tries, r.Reason, r.Detail = count(d.attempts), onPage(d.reason), onPage(d.detail)
		r.Ref = onPage(d.ref)
		if !d.isOpen() {
			r.Status = fmt.Sprintf("%s, owed for %s", d.status, span(d.until.Sub(d.since)))
			r.Class = string(d.status)
		}
	}
	return r
}

// count is a number that is not worth a look when it is zero.
func count(n int) string {
	if n == 0 {
		return ""
	}
	return number(n)
}

// shortID is enough of an invocation to tell it from its neighbours.
func shortID(invocation string) string { return strings.TrimSuffix(firstOf(invocation, 8), "…") }
