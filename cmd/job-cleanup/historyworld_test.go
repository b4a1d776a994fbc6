package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"job-cleanup/pkg/journal"
	"job-cleanup/pkg/outcome"
)

// journalOf is a journal in the making.
type journalOf struct {
	lines []journalLine
	seq   int
	uid   string // of who sends; root's if it is empty
}

type journalLine struct {
	at     time.Time
	fields map[string]any
}

// send adds a record, from another unit than its own if one is given.
func (j *journalOf) send(at time.Time, from string, r journal.Record) {
	fields := map[string]any{"_UID": cmp.Or(j.uid, "0"), "_HOSTNAME": "batch-03", "__REALTIME_TIMESTAMP": strconv.FormatInt(at.UnixMicro(), 10)}
	if from == "" {
		from = r.Unit
	}
	fields["_SYSTEMD_UNIT"] = bytesOr(from)
	for name, value := range r.Fields() {
		fields[name] = bytesOr(value)
	}
	j.lines = append(j.lines, journalLine{at, fields})
}

// bytesOr is a field as journalctl prints it: what is no text as numbers.
func bytesOr(value string) any {
	if printable := !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == '\uFFFD' }); printable {
		return value
	}
	numbers := make([]int, len(value))
	for i := range len(value) {
		numbers[i] = int(value[i])
	}
	return numbers
}

// text is what journalctl prints.
func (j *journalOf) text() string {
	slices.SortStableFunc(j.lines, func(a, b journalLine) int { return a.at.Compare(b.at) })
	var b strings.Builder
	out := json.NewEncoder(&b)
	for _, line := range j.lines {
		_ = out.Encode(line.fields)
	}
	return b.String()
}

// aJob is one job and what its hook met.
type aJob struct {
	unit      string
	began     time.Time
	ran       time.Duration
	how       outcome.Outcome
	residues  []journal.Record
	took      time.Duration
	invokedAs string
}

// job adds a job and its cleanup, and returns its invocation.
func (j *journalOf) job(t aJob) string {
	j.seq++
	id := t.invokedAs
	if id == "" {
		id = fmt.Sprintf("%08x%024x", uint32(j.seq)*2654435761, j.seq)
	}
	ended := t.began.Add(t.ran)
	j.send(t.began, "", journal.Record{Event: journal.Armed, Unit: t.unit, Invocation: id})
	j.pass(t.unit, id, "", ended, t.took, t.how, t.residues)
	return id
}

// pass adds one cleanup of a job.
func (j *journalOf) pass(unit, id, from string, began time.Time, took time.Duration, how outcome.Outcome, residues []journal.Record) {
	counts := map[journal.Event]int{}
	for i, r := range residues {
		r.Unit, r.Invocation, r.Outcome = unit, id, how
		if r.ResidueID == "" {
			r.ResidueID = r.Kind + r.Ref
		}
		r.ResidueID = strings.TrimSpace(r.ResidueID) // a blank is none
		counts[r.Event]++
		j.send(began.Add(took*time.Duration(i+1)/time.Duration(len(residues)+1)), from, r)
	}
	j.send(began.Add(took), from, journal.Record{Event: journal.Summary, Unit: unit, Invocation: id, Outcome: how, Duration: took, Counts: maps.Clone(counts)})
}

// sweep adds the sweep that ended what a job owed.
func (j *journalOf) sweep(unit, id string, at time.Time, how outcome.Outcome, residues ...journal.Record) {
	j.pass(unit, id, "job-cleanup-sweep.service", at, 180*time.Millisecond, how, residues)
}

var (
	well     = outcome.Outcome{Result: "success", Code: "exited", Status: "0"}
	exit3    = outcome.Outcome{Result: "exit-code", Code: "exited", Status: "3"}
	sigkill  = outcome.Outcome{Result: "signal", Code: "killed", Status: "KILL"}
	oom      = outcome.Outcome{Result: "oom-kill", Code: "killed", Status: "KILL"}
	tooLong  = outcome.Outcome{Result: "timeout", Code: "killed", Status: "TERM"}
	powerCut = outcome.Outcome{Result: outcome.Lost}
)

func removed(kind, ref string, took time.Duration) journal.Record {
	return journal.Record{Event: journal.Removed, Kind: kind, Ref: ref, Duration: took, Attempt: 1}
}

func stillOwed(kind, ref, reason, detail string, attempt int) journal.Record {
	return journal.Record{Event: journal.Owed, Kind: kind, Ref: ref, Reason: reason, Detail: detail, Attempt: attempt}
}

// aWeek is a week of a machine with some batch jobs, in which not all went
// well. It ends at the given time.
func aWeek(now time.Time) *journalOf {
	j, day, dice := &journalOf{}, now.Truncate(24*time.Hour).AddDate(0, 0, -6), rand.New(rand.NewPCG(3, 14))
	about := func(d time.Duration) time.Duration { return time.Duration(float64(d) * (0.7 + 0.6*dice.Float64())) }
	path := func(name string) journal.Record { return removed("path", "/var/tmp/"+name, about(4*time.Millisecond)) }
	for d := range 7 {
		at := func(h, m int) time.Time {
			return day.AddDate(0, 0, d).Add(time.Duration(h)*time.Hour + time.Duration(m)*time.Minute + about(20*time.Second))
		}
		token := removed("vault", "token accessor hZ3q…9f", about(28*time.Millisecond))
		for _, db := range []string{"orders", "ledger"} {
			t := aJob{"backup@" + db + ".service", at(2, 10), about(95 * time.Minute), well, []journal.Record{path("backup-" + db), removed("consul", "locks/backup-"+db, about(9*time.Millisecond)), token}, about(60 * time.Millisecond), ""}
			switch {
			case db == "orders" && d == 3:
				t.how, t.took = exit3, 4200*time.Millisecond
				t.residues[2] = stillOwed("vault", "token accessor hZ3q…9f", "unreachable", "dial tcp 10.2.0.11:8200: connect: no route to host", 1)
				id := j.job(t)
				j.sweep(t.unit, id, at(6, 58), exit3, removed("vault", "token accessor hZ3q…9f", 31*time.Millisecond))
				continue
			case db == "ledger" && d == 5:
				t.how, t.ran = powerCut, 41*time.Minute
				id := "c41d" + strings.Repeat("0e7a", 7)
				j.send(t.began, "", journal.Record{Event: journal.Armed, Unit: t.unit, Invocation: id})
				j.sweep(t.unit, id, at(9, 12), powerCut, t.residues[0], removed("consul", "locks/backup-ledger", 12*time.Millisecond), removed("s3", "backups/ledger/full.tar.zst (upload 2~p0Qk)", 44*time.Millisecond))
				continue
			}
			if !t.began.Add(t.ran).After(now) {
				j.job(t)
			}
		}
		for h := 0; h < 24; h += 3 {
			t := aJob{"etl-orders.service", at(h, 0), about(14 * time.Minute), well, []journal.Record{path("etl-orders"), removed("postgres", "schema etl_stage_"+strconv.Itoa(d*8+h/3), about(35*time.Millisecond))}, about(70 * time.Millisecond), ""}
			switch {
			case d == 4 && h == 15:
				t.how, t.ran = oom, 6*time.Minute
				t.residues[1] = stillOwed("postgres", "prepared transaction etl-orders-39", "permission", "must be owner of the transaction, or a superuser (42501)", 1)
				id := j.job(t)
				for i := range 6 {
					j.sweep(t.unit, id, at(h+1+i*5, 20), oom, stillOwed("postgres", "prepared transaction etl-orders-39", "permission", "must be owner of the transaction, or a superuser (42501)", i+2))
				}
				continue
			case d == 1 && h == 9:
				t.how, t.ran = tooLong, 90*time.Minute
			case d == 6 && h == 6:
				t.how = sigkill
			}
			if !t.began.Add(t.ran).After(now) {
				j.job(t)
			}
		}
		for range 5 {
			t := aJob{"deploy-web.service", at(8+dice.IntN(9), dice.IntN(60)), about(3 * time.Minute), well, []journal.Record{path("deploy-web"), removed("lockfile", "/run/lock/deploy-web", about(time.Millisecond))}, about(15 * time.Millisecond), ""}
			if dice.IntN(9) == 0 {
				t.how = exit3
			}
			if !t.began.Add(t.ran).After(now) {
				j.job(t)
			}
		}
		t := aJob{"reports@weekly.service", at(5, 30), about(22 * time.Minute), well, []journal.Record{path("reports-weekly")}, about(11 * time.Millisecond), ""}
		if d == 6 {
			t.residues = append(t.residues, stillOwed("s3", "reports/2026/ (3 uploads)", "timeout", "no answer within 10s", 1))
			t.took = 10100 * time.Millisecond
		}
		j.job(t)
	}
	return j
}

// manyRuns is a long history of many units.
func manyRuns(now time.Time, n, units int) *journalOf {
	j, dice := &journalOf{}, rand.New(rand.NewPCG(1, 2))
	endings := []outcome.Outcome{well, well, well, well, well, well, well, well, well, well, well, exit3, sigkill, tooLong, powerCut, {Result: "resources"}}
	for i := range n {
		ended := now.Add(-time.Duration(n-i) * 19 * time.Minute)
		ref := fmt.Sprintf("/var/tmp/job-%d", i)
		t := aJob{fmt.Sprintf("job-%02d.service", dice.IntN(units)), ended.Add(-3 * time.Minute), 3 * time.Minute, endings[dice.IntN(len(endings))],
			[]journal.Record{removed("path", ref, 3*time.Millisecond), removed("consul", fmt.Sprintf("locks/job-%d", i), 8*time.Millisecond)}, 40 * time.Millisecond, ""}
		if i%97 == 50 {
			t.residues[1] = stillOwed("consul", "locks/x", "unreachable", "connection refused", 1)
			id := j.job(t)
			if i != n-n%97-47 {
				j.sweep(t.unit, id, ended.Add(time.Duration(dice.IntN(40))*time.Hour), t.how, removed("consul", "locks/x", 8*time.Millisecond))
			}
			continue
		}
		j.job(t)
	}
	return j
}

// inFile is the page of a journal, written to a file.
func inFile(t testing.TB, j *journalOf) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "history.html")
	if err := savePage(path, viewOf(t, j, pageRuns, historyOptions{}).write); err != nil {
		t.Fatal(err)
	}
	return path
}
