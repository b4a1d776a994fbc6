package main

import (
	"fmt"
	"strconv"
	"time"
)

// axis maps times to the width of the page, in percent.
type axis struct {
	from, to time.Time
	end      time.Time // of what is told; a short axis goes on a little
}

// shortestAxis is what a page shows at least.
const shortestAxis = 10 * time.Minute

// newAxis begins with the first job and ends with the last record, or now where
// that is near or something is owed to this day.
func newAxis(runs []*pastJob, last, now time.Time, owed, bounded bool) axis {
	a := axis{from: now, to: now}
	for i, j := range runs {
		if begun := j.begun(); i == 0 || begun.Before(a.from) {
			a.from = begun
		}
	}
	if whole := last.Sub(a.from); len(runs) > 0 && (bounded || !owed && now.Sub(last) > max(whole/4, time.Hour)) {
		a.to = last
	}
	a.end = a.to
	if short := shortestAxis - a.to.Sub(a.from); short > 0 {
		a.from, a.to = a.from.Add(-short/2), a.to.Add(short/2)
	}
	return axis{a.from.In(now.Location()), a.to.In(now.Location()), a.end}
}

// at is where a time stands; what is outside stands at the edge.
func (a axis) at(t time.Time) float64 {
	return min(max(100*float64(t.Sub(a.from))/float64(a.to.Sub(a.from)), 0), 100)
}

// percent is a place as SVG takes it.
func percent(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) + "%" }

// pageTick is a line of the axis.
type pageTick struct {
	X, Label, Day string
	Minor         bool // there is no room for its label on a narrow page
}

// mostTicks is how many labels have room on a wide page.
const mostTicks = 8

// step is a distance between ticks: so many minutes, days or months.
type step struct{ minutes, days, months int }

var steps = []step{
	{minutes: 1}, {minutes: 2}, {minutes: 5}, {minutes: 15}, {minutes: 30}, {minutes: 60}, {minutes: 120}, {minutes: 180}, {minutes: 360}, {minutes: 720},
	{days: 1}, {days: 2}, {days: 7}, {days: 14}, {months: 1}, {months: 2}, {months: 3}, {months: 6}, {months: 12}, {months: 24}, {months: 60}, {months: 120},
}

// ticks are the round times of the axis, in its own zone.
func (a axis) ticks() []pageTick {
	for i, s := range steps {
		if ticks, fit := s.ticks(a); fit || i == len(steps)-1 {
			return ticks
		}
	}
	return nil
}

// ticks are those of one step, and whether there are few enough.
func (s step) ticks(a axis) (ticks []pageTick, fit bool) {
	day := ""
	for i := range 100 { // a first one before the axis, and a day of minutes
		t := s.nth(a.from, i)
		if t.After(a.to) {
			return ticks, true
		}
		if t.Before(a.from) {
			continue
		}
		if len(ticks) == mostTicks {
			return ticks, false
		}
		tick := pageTick{X: percent(a.at(t)), Label: s.label(t), Minor: len(ticks)%2 == 1}
		if today := t.Format("2 Jan"); s.minutes > 0 && today != day {
			tick.Day, day = today, today
		}
		ticks = append(ticks, tick)
	}
	return ticks, len(ticks) > 0
}

// nth is the n-th round time from the last one before t. Days and hours are
// those of the zone, also where one of them is longer.
func (s step) nth(t time.Time, n int) time.Time {
	year, month, day := t.Date()
	switch {
	case s.minutes > 0:
		minute := (t.Hour()*60 + t.Minute()) / s.minutes * s.minutes
		return time.Date(year, month, day, 0, minute+n*s.minutes, 0, 0, t.Location())
	case s.days >= 7:
		day -= (int(t.Weekday()) + 6) % 7 // Monday
	case s.months > 0:
		whole := year*12 + int(month) - 1
		return time.Date(0, time.Month(whole/s.months*s.months+1+n*s.months), 1, 0, 0, 0, 0, t.Location())
	}
	return time.Date(year, month, day+n*s.days, 0, 0, 0, 0, t.Location())
}

func (s step) label(t time.Time) string {
	switch {
	case s.minutes > 0:
		return t.Format("15:04")
	case s.days > 0:
		return t.Format("2 Jan")
	case s.months < 12:
		return t.Format("Jan 2006")
	}
	return t.Format("2006")
}

// span is a time for people, to the precision they care about.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return ""
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// zone names the zone of the times, both halves of a year if they differ.
func (a axis) zone() string {
	from, to := a.from.Format("MST"), a.to.Format("MST")
	if from == to {
		return fmt.Sprintf("%s (UTC%s)", to, a.to.Format("-07:00"))
	}
	return fmt.Sprintf("%s (UTC%s), later %s (UTC%s)", from, a.from.Format("-07:00"), to, a.to.Format("-07:00"))
}
