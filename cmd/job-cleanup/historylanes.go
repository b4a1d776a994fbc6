package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"job-cleanup/pkg/journal"
)

// pageLane is the timeline of one unit.
type pageLane struct {
	Unit, Runs, Bad, Owes string // the last three: how many, in words
	Height                int
	Spans                 []pageSpan
	Marks                 []pageMark
	Debts                 []pageDebt
}

// pageSpan is the time of a job, or of a cleanup that took long.
type pageSpan struct {
	X, Width, Class string
	Y, Height       int
}

// pageMark is the end of a job, or of several that are too near to be told
// apart.
type pageMark struct {
	X, Title string
	Class    endingClass
	Row      int // of the table
}

// pageDebt is a line from when something was owed to when it was not.
type pageDebt struct {
	X, X2, Width, Title string
	Y                   int
	Open                bool
	Label, LabelX       string
}

// How much a lane shows.
const (
	mostLanes  = 40
	laneSlots  = 400 // marks in one slot stand for one another
	markMiddle = 24  // from the top of a lane
	debtTop    = 41
	debtHeight = 14
	laneHeight = 48 // without debts
	debtRows   = 3
	labelWidth = 12.0 // percent, on a wide page
	leastSpan  = 0.4  // percent: what is shorter is under its mark
)

// lanes groups the runs by unit: units that owe first, then those with jobs
// that ended badly. It says how many units have no lane.
func (v *pageView) lanes(runs []*pastJob, rows map[*pastJob]int) {
	byUnit := map[string][]*pastJob{}
	for _, j := range runs {
		byUnit[j.unit] = append(byUnit[j.unit], j)
	}
	type unitRuns struct {
		jobs []*pastJob
		lane pageLane
	}
	var all []unitRuns
	for unit, jobs := range byUnit {
		u := unitRuns{jobs, pageLane{Unit: onPage(unit)}}
		u.lane.note(jobs)
		all = append(all, u)
	}
	rank := func(u unitRuns) int {
		switch {
		case u.lane.Owes != "":
			return 0
		case u.lane.Bad != "":
			return 1
		}
		return 2
	}
	slices.SortFunc(all, func(a, b unitRuns) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.lane.Unit, b.lane.Unit))
	})
	v.MoreLanes = max(len(all)-mostLanes, 0)
	for _, u := range all[:min(len(all), mostLanes)] {
		u.lane.marks(v.axis, u.jobs, rows)
		u.lane.debts(v.axis, u.jobs)
		v.Lanes = append(v.Lanes, u.lane)
		v.AnyDebt = v.AnyDebt || len(u.lane.Debts) > 0
	}
}

// note says in words what the lane shows.
func (l *pageLane) note(jobs []*pastJob) {
	var t tallyOfRuns
	owed := 0
	for _, j := range jobs {
		t.count(j)
		open, _ := j.owes()
		owed += open
	}
	l.Runs = counted(t.runs, "run")
	if t.bad() > 0 {
		l.Bad = number(t.bad()) + " ended badly"
	}
	if owed > 0 {
		l.Owes = number(owed) + " owed"
	}
}

// marks places the jobs: a line while it ran, a bar while it was cleaned, a
// mark where it ended. What went badly is drawn over what went well.
func (l *pageLane) marks(a axis, jobs []*pastJob, rows map[*pastJob]int) {
	type slot struct {
		at    int
		class endingClass
	}
	in := map[slot][]*pastJob{}
	var order []slot
	spans := map[pageSpan]bool{}
	draw := func(from, to time.Time, class string, height int) {
		x, end := slotted(a.at(from)), slotted(a.at(to))
		if end-x < leastSpan {
			return
		}
		s := pageSpan{percent(x), percent(end - x), class, markMiddle - height/2, height}
		if !spans[s] {
			spans[s] = true
			l.Spans = append(l.Spans, s)
		}
	}
	for _, j := range jobs {
		ended := j.ended()
		if !j.armed.IsZero() {
			draw(j.armed, ended, "ran", 2)
		}
		draw(ended, j.passes[0].end, "cleaned", 8)
		s := slot{int(a.at(ended) / 100 * laneSlots), classOf(j.outcome)}
		if in[s] == nil {
			order = append(order, s)
		}
		in[s] = append(in[s], j)
	}
	slices.SortStableFunc(order, func(x, y slot) int {
		return cmp.Or(btoi(x.class.bad())-btoi(y.class.bad()), x.at-y.at)
	})
	for _, s := range order {
		group := in[s]
		l.Marks = append(l.Marks, pageMark{
			X: percent(a.at(group[len(group)-1].ended())), Class: s.class, Row: rows[group[len(group)-1]], Title: markTitle(a, group),
		})
	}
}

// slotted rounds a place to what can be told apart.
func slotted(x float64) float64 { return float64(int(x/100*laneSlots*2)) * 50 / laneSlots }

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// markTitle is what a mark says under the pointer.
func markTitle(a axis, group []*pastJob) string {
	last := group[len(group)-1]
	when := func(j *pastJob) string { return stamp(j.ended().In(a.to.Location())) }
	if len(group) > 1 {
		return fmt.Sprintf("%s: %d runs, %s to %s", endingText(last.outcome), len(group), when(group[0]), when(last))
	}
	return fmt.Sprintf("%s, %s: %s", when(last), endingText(last.outcome), last.sums())
}

// debts draws a line for what each job owed, in rows so that they don't
// overlap as long as there are rows.
func (l *pageLane) debts(a axis, jobs []*pastJob) {
	var taken [debtRows]float64
	for i := range taken {
		taken[i] = -1
	}
	drawn, used := map[pageDebt]bool{}, 0
	for _, j := range jobs {
		open, ever := j.owes()
		if ever == 0 {
			continue
		}
		since, until := j.owedFrom()
		d := pageDebt{Open: open > 0}
		if d.Open {
			until = a.end
		}
		x, end := slotted(a.at(since)), max(slotted(a.at(until)), slotted(a.at(since))+0.3)
		d.label(end, until.Sub(since), j.settled(), open, ever)
		row := slices.IndexFunc(taken[:], func(right float64) bool { return right < x })
		if row < 0 {
			row, d.Label = debtRows-1, ""
		}
		taken[row] = max(taken[row], end+1)
		if d.Label != "" {
			taken[row] = max(taken[row], end+labelWidth)
		}
		d.X, d.X2, d.Width, d.Y = percent(x), percent(end), percent(end-x), debtTop+row*debtHeight
		used = max(used, row+1)
		if same := (pageDebt{X: d.X, X2: d.X2, Open: d.Open, Y: d.Y}); !drawn[same] {
			drawn[same] = true
			l.Debts = append(l.Debts, d)
		}
	}
	l.Height = laneHeight + used*debtHeight
}

// label says how long it was owed; beside the line where there is room.
func (d *pageDebt) label(end float64, took time.Duration, word string, open, ever int) {
	if d.Open {
		d.Title = fmt.Sprintf("%s owed for %s", number(open), span(took))
		return
	}
	d.Title = fmt.Sprintf("%s owed, %s %s later", number(ever), word, span(took))
	if end < 100-labelWidth {
		d.Label, d.LabelX = word+" "+span(took)+" later", percent(end)
	}
}

// sums is what became of a job's residue, in words.
func (j *pastJob) sums() string {
	var parts []string
	for _, status := range residueEvents {
		if n := j.total(status); n > 0 && status != journal.Owed && status != journal.Skipped {
			parts = append(parts, number(n)+" "+string(status))
		}
	}
	if text := j.debtText(); text != "" {
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return "nothing to do"
	}
	return strings.Join(parts, ", ")
}

// debtText is what a job owes, or owed and for how long.
func (j *pastJob) debtText() string {
	open, ever := j.owes()
	since, until := j.owedFrom()
	switch {
	case open > 0:
		return number(open) + " owed"
	case ever > 0:
		return fmt.Sprintf("%s, %s %s later", number(ever), j.settled(), span(until.Sub(since)))
	}
	return ""
}

// settled is the word for what became of all that a job owed.
func (j *pastJob) settled() string {
	for _, d := range j.debts {
		if !d.isOpen() && !d.isDone() {
			return "closed"
		}
	}
	return "done"
}

// ended is when the job was over, as far as its first cleanup tells.
func (j *pastJob) ended() time.Time {
	first := j.passes[0]
	if first.took <= 0 || first.took > maxTook {
		return first.end
	}
	return first.end.Add(-first.took)
}

// maxTook is more than any cleanup takes; a job may claim anything.
const maxTook = 24 * time.Hour

// begun is when the job began, as far as anybody told.
func (j *pastJob) begun() time.Time {
	if !j.armed.IsZero() && j.armed.Before(j.ended()) {
		return j.armed
	}
	return j.ended()
}
