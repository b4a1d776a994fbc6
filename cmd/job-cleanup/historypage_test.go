package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"job-cleanup/pkg/journal"
	"job-cleanup/pkg/outcome"
)

// pageNow is when the pages of the tests are made.
var pageNow = time.Date(2026, 3, 8, 9, 41, 0, 0, time.FixedZone("CET", 3600))

// viewOf is what the page of a journal shows.
func viewOf(t testing.TB, j *journalOf, most int, h historyOptions) *pageView {
	t.Helper()
	s := newStory(most, h.wants)
	for e, err := range journal.Decode(strings.NewReader(j.text())) {
		if err != nil {
			t.Fatal(err)
		}
		s.add(e)
	}
	return newPageView(s, pageQuestion{now: pageNow})
}

// html is the page's text.
func pageOf(t testing.TB, v *pageView) string {
	t.Helper()
	var b bytes.Buffer
	if err := v.write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestHistoryPageAnswers: a debt is followed to the pass that ended it, by id,
// by reference where there is none, and from a step to what it found.
func TestHistoryPageAnswers(t *testing.T) {
	const unit, id = "a.service", "one"
	at := func(h int) time.Time { return pageNow.Add(time.Duration(h-10) * time.Hour) }
	owes := stillOwed("consul", "locks/a", "unreachable", "no route", 1)
	step := journal.Record{Event: journal.Owed, Kind: "s3", Ref: "logs/", Source: "/etc/a:7", Reason: "timeout", ResidueID: " "}
	fromStep := journal.Record{Event: journal.Removed, Kind: "s3", Ref: "logs/4711", Source: "/etc/a:7", ResidueID: "u1"}
	other := stillOwed("s3", "logs/4712", "timeout", "", 2)
	other.Source = "/etc/a:7"
	gone := removed("consul", "locks/a", time.Millisecond)
	byRef := gone
	byRef.ResidueID = " " // the record of a child that knows no ids
	lostIt := gone
	lostIt.Event = journal.LostOwnership
	otherDone := other
	otherDone.Event = journal.Removed
	sameName := gone
	sameName.ResidueID = "another"
	type pass = []journal.Record
	tests := []struct {
		name          string
		passes        []pass
		headline, row string
		uid           string // of the later passes
	}{
		{name: "all well", passes: []pass{{gone}}, headline: "Nothing is owed, and no run ended badly."},
		{name: "owed", passes: []pass{{owes}}, headline: "1 thing is still owed, for 9 h.", row: "1 owed"},
		{name: "done", passes: []pass{{owes}, {gone}}, headline: "Nothing is owed, and no run ended badly.", row: "1, done 1 h later"},
		{name: "done, without an id", passes: []pass{{owes}, {byRef}}, headline: "Nothing is owed, and no run ended badly.", row: "1, done 1 h later"},
		{name: "somebody else's now", passes: []pass{{owes}, {lostIt}}, headline: "Nothing is owed, and no run ended badly.", row: "1, closed 1 h later"},
		{name: "tried in vain", passes: []pass{{owes}, {owes}, {owes}}, headline: "1 thing is still owed, for 9 h.", row: "1 owed"},
		{name: "another one done", passes: []pass{{owes}, {removed("consul", "locks/b", 0)}}, headline: "1 thing is still owed, for 9 h.", row: "1 owed"},
		{name: "said by the job", passes: []pass{{owes}, {gone}}, uid: "1000", headline: "1 thing is still owed, for 9 h.", row: "1 owed"},
		{name: "a step", passes: []pass{{step}, {fromStep}}, headline: "Nothing is owed, and no run ended badly.", row: "1, done 1 h later"},
		{name: "a step, half of it", passes: []pass{{step, fromStep}}, headline: "1 thing is still owed, for 9 h.", row: "1 owed"},
		{name: "another one of that name done", passes: []pass{{owes}, {sameName}}, headline: "1 thing is still owed, for 9 h.", row: "1 owed"},
		{name: "a step found something, another one was done", passes: []pass{{step}, {other}, {fromStep}}, headline: "1 thing is still owed, for 9 h.", row: "1 owed"},
		{name: "a step found something, it was done", passes: []pass{{step}, {other}, {otherDone}}, headline: "Nothing is owed, and no run ended badly.", row: "1, done 2 h later"},
		{name: "a step found something owed", passes: []pass{{step}, {other, fromStep}}, headline: "1 thing is still owed, for 9 h.", row: "1 owed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := &journalOf{}
			for i, residues := range tt.passes {
				for k := range residues {
					residues[k].Attempt = i + 1
				}
				j.uid = "0"
				if i > 0 && tt.uid != "" {
					j.uid = tt.uid
				}
				j.pass(unit, id, "", at(i+1).Add(-time.Second), time.Second, well, residues)
			}
			v := viewOf(t, j, 10, historyOptions{})
			if v.Headline != tt.headline || len(v.Runs) != 1 || v.Runs[0].Debt != tt.row {
				t.Errorf("%q, %d runs, %q", v.Headline, len(v.Runs), v.Runs[0].Debt)
			}
			open := strings.Contains(tt.headline, "owed, for")
			if tt.row != "" && (len(v.Lanes[0].Debts) != 1 || v.Lanes[0].Debts[0].Open != open) {
				t.Errorf("lines of debts: %+v", v.Lanes[0].Debts)
			}
		})
	}
}

// TestHistoryPageWhole is a week with all of it.
func TestHistoryPageWhole(t *testing.T) {
	v := viewOf(t, aWeek(pageNow), 5000, historyOptions{})
	if v.Headline != "2 things are still owed, the oldest for 41 h." || len(v.Lanes) != 5 || v.Lanes[0].Unit != "etl-orders.service" || v.Hosts != "batch-03" {
		t.Errorf("%q, %d lanes, the first %q, on %q", v.Headline, len(v.Lanes), v.Lanes[0].Unit, v.Hosts)
	}
	if v.Zone != "CET (UTC+01:00)" || len(v.Ticks) < 3 || len(v.Ticks) > mostTicks {
		t.Errorf("zone %q, ticks %+v", v.Zone, v.Ticks)
	}
	text := pageOf(t, v)
	for _, want := range []string{
		"postgres</span> <bdi class=\"ref\">prepared transaction etl-orders-39", "<b>permission</b>, for <b>41 h</b>, tried 7 times",
		"1 owed, done 2 h later", "removed, owed for 2 h", "2 h later: 1 removed in 180 ms, by job-cleanup-sweep.service",
		"oom-kill KILL", "job-cleanup history --invocation ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	if i := strings.Index(text, "Removed</th>"); i < 0 || strings.Contains(text, "<script") || strings.Contains(text, " style=") {
		t.Error("no table, or something that the policy forbids")
	}
}

func TestHistoryPageFilters(t *testing.T) {
	for name, tt := range map[string]struct {
		h    historyOptions
		runs int
	}{
		"owed": {historyOptions{owed: true}, 3}, "timeout": {historyOptions{results: []string{"timeout"}}, 1},
		"lost, owed": {historyOptions{results: []string{"lost"}, owed: true}, 0},
	} {
		v := viewOf(t, aWeek(pageNow), 5000, tt.h)
		if len(v.Runs) != tt.runs {
			t.Errorf("%s: %d runs, want %d", name, len(v.Runs), tt.runs)
		}
		if text := pageOf(t, v); tt.runs == 0 && !strings.Contains(text, "No cleanup is known.") {
			t.Errorf("%s: an empty page that does not say so", name)
		}
	}
}

// TestHistoryPageIsBounded: the oldest runs are counted and not shown, and what
// one of them owes is still told.
func TestHistoryPageIsBounded(t *testing.T) {
	j := &journalOf{}
	begin := pageNow.Add(-1000 * time.Minute)
	j.job(aJob{"old.service", begin, time.Second, exit3, []journal.Record{stillOwed("path", "/var/tmp/old", "busy", "", 1)}, time.Second, "old"})
	for i := range 30 {
		j.job(aJob{"a.service", begin.Add(time.Duration(i+1) * time.Minute), time.Second, well, nil, time.Second, ""})
	}
	v := viewOf(t, j, 10, historyOptions{})
	if len(v.Runs) != 10 || v.MoreRuns != 21 || v.Facts[0].Value != "31" || v.Facts[2].Value != "1" {
		t.Errorf("%d rows, %d more, %+v", len(v.Runs), v.MoreRuns, v.Facts)
	}
	if len(v.Owed) != 1 || v.Owed[0].Unit != "old.service" || v.Owed[0].Row != 0 {
		t.Errorf("owed: %+v", v.Owed)
	}
	text := pageOf(t, v)
	if !strings.Contains(text, "21 older runs are counted on top and have no row") {
		t.Error("it does not say what is left out")
	}

	j.sweep("old.service", "old", pageNow.Add(-time.Hour), exit3, removed("path", "/var/tmp/old", 0))
	if v := viewOf(t, j, 10, historyOptions{}); len(v.Owed) != 0 {
		t.Errorf("owed although it was done: %+v", v.Owed)
	}
	residues := make([]journal.Record, 500)
	for i := range residues {
		residues[i] = removed("path", strings.Repeat("x", i+1), 0)
	}
	big := &journalOf{}
	big.job(aJob{"a.service", begin, time.Second, well, residues, time.Second, ""})
	if r := viewOf(t, big, 10, historyOptions{}).Runs[0]; len(r.Residues) != residuesKept || strings.Join(r.More, "") != "440 more removed" || r.Removed != "500" {
		t.Errorf("%d lines, %q, %s removed", len(r.Residues), r.More, r.Removed)
	}
}

// evil are texts that anybody may have put into the journal.
var evil = []string{
	`<script>window.hit=1</script>`, `"><img src=x onerror=window.hit=1>`, `'"--></style></title><b>`, "nul\x00bell\a\x1b[31mesc\x7f", "\u202egnp.exe\u2066", "bad\xff\xfeutf8", "javascript:window.hit=1",
	"{{.Headline}}", "&lt;b&gt;", strings.Repeat("Z\u0335\u0321\u035c", 300), strings.Repeat("w", 5000),
}

// evilJournal has an evil text in each field.
func evilJournal() *journalOf {
	j := &journalOf{}
	for i, text := range evil {
		at := pageNow.Add(time.Duration(i-len(evil)) * time.Hour)
		how := outcome.Outcome{Result: text, Code: text, Status: text}
		bad := journal.Record{Kind: text, Ref: text, Reason: text, Detail: text, Step: text, Source: text, ResidueID: text + "id"}
		owed, done := bad, bad
		owed.Event, done.Event = journal.Owed, journal.Removed
		done.ResidueID, done.Ref = text+"id2", text+"2"
		j.send(at, text, journal.Record{Event: journal.Problem, Unit: text, Invocation: text, Message: text})
		j.pass(text, text, text, at, time.Second, how, []journal.Record{done, owed})
		j.send(at.Add(2*time.Second), text, journal.Record{Event: journal.Summary, Unit: text, Invocation: "x" + text, Outcome: how,
			Duration: 1 << 62, Counts: map[journal.Event]int{journal.Owed: 1 << 62, journal.Removed: 1 << 62}})
	}
	return j
}

// TestHistoryPageEscapes: nothing in the journal becomes a part of the page.
func TestHistoryPageEscapes(t *testing.T) {
	text := pageOf(t, viewOf(t, evilJournal(), 100, historyOptions{}))
	for _, bad := range []string{"<script", "<img", "\x00", "\x1b", "\u202e", "\u2066", "\xff", "\ufffd", "<b></", "javascript:window.hit=1\""} {
		if strings.Contains(text, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	for _, want := range []string{"&lt;script&gt;window.hit=1&lt;/script&gt;", `\x00`, `\u202egnp.exe`, `bad\xff\xfeutf8`, "{{.Headline}}", "&amp;lt;b&amp;gt;"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if len(text) > 400_000 {
		t.Errorf("%d bytes", len(text))
	}
}

// TestHistoryPageCommand: a command stands there to be copied into a shell, root's
// perhaps, so that no job may write a part of it.
func TestHistoryPageCommand(t *testing.T) {
	for id, want := range map[string]bool{
		"0123456789abcdef0123456789abcdef": true, "github:42.build-1_a:1": true, byHand: true,
		"x; touch /tmp/hit": false, "$(touch /tmp/hit)": false, "`id`": false, "a|b": false, "a\nb": false, "~root": false, "-x": false, "'": false,
	} {
		j := &journalOf{}
		j.pass("a.service", id, "a.service", pageNow, time.Second, outcome.Outcome{}, []journal.Record{removed("path", "/tmp/a", 0)})
		if got := strings.Contains(pageOf(t, viewOf(t, j, 1, historyOptions{})), "history --invocation "); got != want {
			t.Errorf("%q: a command: %v", id, got)
		}
	}
}

// runPage runs history --html on the journal of TestHistory.
func runPage(t *testing.T, o options, h historyOptions, file string) (text, hints string, err error) {
	t.Helper()
	h.page = &file
	h.command = filepath.Join(t.TempDir(), "journalctl")
	if err := os.WriteFile(h.command, []byte("#!/bin/sh\ncat <<'END'\n"+journalText+"END\necho \"$@\" >&2\nexit ${FAIL:-0}\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	_, err = runHistory(context.Background(), &program{stdout: &out, stderr: &errs}, &o, h)
	return out.String(), errs.String(), err
}

// TestHistoryPageFile: a page is written whole, for its owner, and in the place
// of nothing but a file.
func TestHistoryPageFile(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	page := path("page.html")
	if err := os.WriteFile(page, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if text, _, err := runPage(t, options{}, historyOptions{}, page); err != nil || text != "" {
		t.Fatalf("%q, %v", text, err)
	}
	info, err := os.Stat(page)
	got, _ := os.ReadFile(page)
	if err != nil || info.Mode() != 0o600 || !bytes.HasPrefix(got, []byte("<!DOCTYPE html>")) || !bytes.HasSuffix(got, []byte("</html>\n")) {
		t.Errorf("mode %v, %v\n%s", info.Mode(), err, got)
	}
	if bytes.Contains(got, []byte("forged")) || !bytes.Contains(got, []byte("signal KILL")) {
		t.Error("the page tells of what nobody may believe, or not of the rest")
	}
	if text, _, err := runPage(t, options{}, historyOptions{}, "-"); err != nil || !strings.HasPrefix(text, "<!DOCTYPE html>") {
		t.Errorf("on standard output: %.40q, %v", text, err)
	}
	if err := errors.Join(os.Symlink(page, path("link")), os.Mkdir(path("folder"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link", "folder", "missing/page.html"} {
		if _, _, err := runPage(t, options{}, historyOptions{}, path(name)); err == nil {
			t.Errorf("%s: written", name)
		}
	}
	if info, err := os.Lstat(path("link")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
	_ = os.WriteFile(page, []byte("old"), 0o600)
	broken := func(out io.Writer) error { _, _ = out.Write([]byte("half")); return errors.New("broken") }
	if err := savePage(page, broken); err == nil {
		t.Error("no error")
	}
	if got, _ := os.ReadFile(page); string(got) != "old" {
		t.Errorf("half a page stands there: %q", got)
	}
	if left, _ := filepath.Glob(path(".job-cleanup-*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestHistoryPageOptions: what does not go together is said, with a hint.
func TestHistoryPageOptions(t *testing.T) {
	for _, tt := range []struct {
		o    options
		h    historyOptions
		file string
	}{{options{json: true}, historyOptions{}, "x"}, {options{}, historyOptions{follow: true}, "x"}, {options{}, historyOptions{}, ""}} {
		_, _, err := runPage(t, tt.o, tt.h, tt.file)
		var usage usageError
		if !errors.As(err, &usage) || usage.hint == "" {
			t.Errorf("%+v: %v", tt, err)
		}
	}
	_, hints, err := runPage(t, options{}, historyOptions{results: []string{"timeout"}}, "-")
	if err != nil || !strings.HasPrefix(hints, "hint: ") {
		t.Errorf("of an empty page: %q, %v", hints, err)
	}
	args := historyOptions{page: new(string), since: "-2h"}.arguments("a", "")
	if all := strings.Join(args, " "); !strings.Contains(all, "--since=-2h JOB_CLEANUP_UNIT=a") || strings.Count(all, "MESSAGE_ID=") != len(storyEvents) {
		t.Errorf("journalctl %s", all)
	}
}

// TestHistoryPageOfSeconds: an axis is wider than a young job, and makes
// nothing older.
func TestHistoryPageOfSeconds(t *testing.T) {
	j := &journalOf{}
	j.job(aJob{"a.service", pageNow.Add(-13 * time.Second), 2 * time.Second, well, []journal.Record{stillOwed("path", "/var/tmp/a", "busy", "", 1)}, 2 * time.Second, ""})
	v := viewOf(t, j, 10, historyOptions{})
	if v.Headline != "1 thing is still owed, for 10 s." || v.Lanes[0].Debts[0].Title != "1 owed for 10 s" || len(v.Ticks) < 2 {
		t.Errorf("%q, %+v, %d ticks", v.Headline, v.Lanes[0].Debts, len(v.Ticks))
	}
}

// TestHistoryPageAxis: ticks are round times of the zone, few enough to read.
func TestHistoryPageAxis(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	for length := 10 * time.Minute; length < 40*365*24*time.Hour; length = length * 5 / 4 {
		a := axis{from: pageNow.In(berlin).Add(-length), to: pageNow.In(berlin)}
		ticks := a.ticks()
		if len(ticks) < 2 || len(ticks) > mostTicks {
			t.Errorf("%v: %d ticks", length, len(ticks))
		}
	}
	a := axis{from: time.Date(2026, 3, 28, 12, 0, 0, 0, berlin), to: time.Date(2026, 3, 31, 12, 0, 0, 0, berlin)} // the clock changes on the 29th
	var labels []string
	for _, tick := range a.ticks() {
		labels = append(labels, tick.Day+" "+tick.Label)
	}
	if got := strings.Join(labels, ","); got != "28 Mar 12:00,29 Mar 00:00, 12:00,30 Mar 00:00, 12:00,31 Mar 00:00, 12:00" || a.zone() != "CET (UTC+01:00), later CEST (UTC+02:00)" {
		t.Errorf("%s, %s", got, a.zone())
	}
}
