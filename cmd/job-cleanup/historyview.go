package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"job-cleanup/pkg/journal"
	"job-cleanup/pkg/outcome"
)

// pageView is what the page shows. Every text that comes from the
// journal has been through onPage.
type pageView struct {
	axis                         axis
	Hosts, Asked, From, To, Made string
	Zone, Version                string
	Headline, State              string // State: owed, bad or well
	Facts                        []pageFact
	Owed                         []pageOwed
	MoreOwed                     int
	Legend                       []pageLegend
	Ticks                        []pageTick
	Lanes                        []pageLane
	Middle                       int  // of a lane's height
	AnyDebt                      bool // in a lane
	MoreLanes                    int
	Runs                         []pageRun
	MoreRuns, Bad, InDebt        int
}

// pageFact is one number of the answer.
type pageFact struct{ Value, Label, Class string }

// pageOwed is one thing that is owed.
type pageOwed struct {
	Unit, Kind, Ref, Reason, Detail, Since, Age, Tries string
	Row                                                int
}

type pageLegend struct {
	Class endingClass
	Text  string
	Count string
}

// How much a page shows.
const (
	mostOwed  = 20     // debts on top
	mostLines = 20_000 // residues of all runs
)

// pageQuestion is what the page is asked for.
type pageQuestion struct {
	asked   string // the options, for people
	bounded bool   // there is an end: it does not go on to now
	now     time.Time
}

func newPageView(s *story, q pageQuestion) *pageView {
	runs := s.runs()
	t := s.goneRuns
	for _, j := range runs {
		t.count(j)
	}
	v := &pageView{Hosts: onPage(strings.Join(s.hosts, ", ")), Asked: onPage(q.asked), Version: version, MoreRuns: s.goneRuns.runs, Middle: markMiddle}
	open, atLeast := owedBy(append(slices.Clone(s.gone), runs...))
	v.axis = newAxis(runs, s.last, q.now, open > 0, q.bounded)
	v.From, v.To = stamp(v.axis.from), stamp(v.axis.to)
	v.Made, v.Zone, v.Ticks = stamp(q.now), v.axis.zone(), v.axis.ticks()
	for _, c := range endingClasses {
		if n := t.byClass[c.class]; n > 0 {
			v.Legend = append(v.Legend, pageLegend{c.class, c.text, number(n)})
		}
	}
	rows := map[*pastJob]int{}
	for i, j := range runs {
		rows[j] = i + 1
	}
	for _, o := range v.openDebts(s, runs) {
		v.Owed = append(v.Owed, newPageOwed(o, rows[o.job], q.now))
	}
	v.answer(t, open, atLeast)
	v.lanes(runs, rows)
	lines := mostLines
	for _, j := range slices.Backward(runs) {
		run := newPageRun(j, rows[j], q.now.Location())
		run.trim(&lines)
		v.Bad += btoi(run.Bad)
		v.InDebt += btoi(run.Debt != "")
		v.Runs = append(v.Runs, run)
	}
	return v
}

// owedBy counts what is owed at the end of the journal; where the journal does
// not tell of each, it may be more.
func owedBy(jobs []*pastJob) (open int, atLeast bool) {
	for _, j := range jobs {
		n, _ := j.owes()
		open += n
		atLeast = atLeast || j.unfollowed > 0
	}
	return open, atLeast
}

// openDebts are the debts that stand on top, oldest first.
func (v *pageView) openDebts(s *story, runs []*pastJob) []*pastDebt {
	var debts []*pastDebt
	for _, j := range append(slices.Clone(s.gone), runs...) {
		for _, d := range j.debts {
			if d.isOpen() {
				debts = append(debts, d)
			}
		}
	}
	slices.SortStableFunc(debts, func(a, b *pastDebt) int { return a.since.Compare(b.since) })
	v.MoreOwed = max(len(debts)-mostOwed, 0)
	return debts[:min(len(debts), mostOwed)]
}

func newPageOwed(d *pastDebt, row int, now time.Time) pageOwed {
	return pageOwed{
		Unit: onPage(d.job.unit), Kind: onPage(d.kind), Ref: onPage(d.ref), Reason: onPage(d.reason), Detail: onPage(d.detail),
		Since: stamp(d.since.In(now.Location())), Age: span(now.Sub(d.since)), Tries: tries(d.attempts), Row: row,
	}
}

// answer is what a person wants to know first.
func (v *pageView) answer(t tallyOfRuns, open int, atLeast bool) {
	switch {
	case t.runs == 0:
		v.State, v.Headline = "well", "No cleanup is known."
		return
	case open > 0:
		v.State = "owed"
		v.Headline = fmt.Sprintf("%s still owed", theyAre(open))
		if atLeast {
			v.Headline = "At least " + v.Headline
		}
		if len(v.Owed) > 0 {
			v.Headline += ", " + map[bool]string{true: "for ", false: "the oldest for "}[open == 1] + v.Owed[0].Age
		}
		v.Headline += "."
	case t.bad() > 0:
		v.State, v.Headline = "bad", fmt.Sprintf("Nothing is owed, but %d of %d runs ended badly.", t.bad(), t.runs)
		if t.runs == 1 {
			v.Headline = "Nothing is owed, but the run ended badly."
		}
	default:
		v.State, v.Headline = "well", "Nothing is owed, and no run ended badly."
	}
	v.Facts = []pageFact{
		{number(t.runs), strings.TrimLeft(counted(t.runs, "run"), "0123456789 "), ""},
		{number(t.byClass[endWell]), "ended well", ""},
		{number(t.bad()), "ended badly", only(t.bad() > 0, "bad")},
		{number(open), "still owed", only(open > 0, "owed")},
		{number(t.removed), "removed", ""},
	}
	if t.settled > 0 {
		v.Facts = append(v.Facts, pageFact{number(t.settled), "done later, " + span(t.slowest) + " at most", ""})
	}
	if t.refused > 0 {
		v.Facts = append(v.Facts, pageFact{number(t.refused), "refused: a person has to look", "bad"})
	}
}

func theyAre(n int) string {
	if n == 1 {
		return "1 thing is"
	}
	return number(n) + " things are"
}

// number is one as the page shows it.
func number(n int) string { return strconv.Itoa(n) }

func tries(n int) string {
	if n == 0 {
		return "not tried"
	}
	if n == 1 {
		return "tried once"
	}
	return "tried " + number(n) + " times"
}

func stamp(t time.Time) string { return t.Format("2006-01-02 15:04:05") }

// onPage makes a text from the journal fit to be looked at: its control bytes
// and direction marks are shown as such.
func onPage(text string) string { return journal.Escape(text) }

// endingText is how a job ended: "exit-code 7", "signal KILL", "success".
func endingText(o outcome.Outcome) string {
	text := cmp.Or(o.Result, outcome.Unknown)
	if !o.Succeeded() && o.Status != "" {
		text += " " + o.Status
	}
	return onPage(text)
}
