package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/outcome"
)

// metricsPatience is how long another process may hold the metrics file.
const metricsPatience = 2 * time.Second

// otherResult stands for endings beyond maxResults: a job chooses its words,
// and each one would be a time series for ever.
const (
	otherResult = "other"
	maxResults  = 30
)

// tally is what the metrics file counts from one cleanup to the next; the file
// is its only memory.
type tally struct {
	runs    map[string]uint64 // by result word
	seconds float64           // that all of them took
	count   uint64
}

var (
	runsLine    = regexp.MustCompile(`(?m)^job_cleanup_runs_total\{result="([a-z0-9-]+)"\} (\d+)$`)
	secondsLine = regexp.MustCompile(`(?m)^job_cleanup_run_duration_seconds_sum (\S+)$`)
	countLine   = regexp.MustCompile(`(?m)^job_cleanup_run_duration_seconds_count (\d+)$`)
)

// readTally takes the counters out of an earlier file. What can't be read
// begins at zero, as after a loss; a rate over a counter expects that.
func readTally(text string) tally {
	t := tally{runs: map[string]uint64{}}
	for _, m := range runsLine.FindAllStringSubmatch(text, -1) {
		t.runs[m[1]], _ = strconv.ParseUint(m[2], 10, 64)
	}
	if m := secondsLine.FindStringSubmatch(text); m != nil {
		t.seconds, _ = strconv.ParseFloat(m[1], 64)
	}
	if m := countLine.FindStringSubmatch(text); m != nil {
		t.count, _ = strconv.ParseUint(m[1], 10, 64)
	}
	return t
}

// add counts one cleanup.
func (t *tally) add(how outcome.Outcome, took time.Duration) {
	word, ok := outcome.FromWord(how.Result)
	if _, known := t.runs[word.Result]; !ok || !known && len(t.runs) >= maxResults {
		word.Result = otherResult
	}
	t.runs[word.Result]++
	t.seconds += took.Seconds()
	t.count++
}

// metricsText is the file for node_exporter's textfile collector.
func metricsText(t tally, debts []debtLine) string {
	var b strings.Builder
	head := func(name, kind, help string) { fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind) }
	owed, stuck, oldest := map[string]int{}, 0, time.Time{}
	for _, d := range debts {
		owed[d.Kind]++
		if d.Stuck {
			stuck++
		}
		if !d.Since.IsZero() && (oldest.IsZero() || d.Since.Before(oldest)) {
			oldest = d.Since
		}
	}
	head("job_cleanup_owed", "gauge", "Residue that is still to be removed, by kind.")
	for _, kind := range kinds().Kinds() { // all of them: an absent series is no zero
		fmt.Fprintf(&b, "job_cleanup_owed{kind=%q} %d\n", kind.Name, owed[kind.Name])
	}
	head("job_cleanup_owed_stuck", "gauge", "Residue that was tried so often that a person should look.")
	fmt.Fprintf(&b, "job_cleanup_owed_stuck %d\n", stuck)
	head("job_cleanup_owed_oldest_age_seconds", "gauge", "Age of the oldest residue that is owed, 0 for none.")
	age := 0.0
	if !oldest.IsZero() {
		age = max(time.Since(oldest).Seconds(), 0)
	}
	fmt.Fprintf(&b, "job_cleanup_owed_oldest_age_seconds %.0f\n", age)
	head("job_cleanup_runs_total", "counter", "Cleanups after jobs, by how the job ended.")
	for _, word := range slices.Sorted(maps.Keys(t.runs)) {
		fmt.Fprintf(&b, "job_cleanup_runs_total{result=%q} %d\n", word, t.runs[word])
	}
	head("job_cleanup_run_duration_seconds", "summary", "How long cleanups after jobs took.")
	fmt.Fprintf(&b, "job_cleanup_run_duration_seconds_sum %g\njob_cleanup_run_duration_seconds_count %d\n", t.seconds, t.count)
	return b.String()
}

// metrics brings the metrics file up to date, after a cleanup of the subject or
// a sweep. A failure is told and changes nothing else.
func (s *site) metrics(ctx context.Context, sub *subject, began time.Time) {
	if s.opts.metricsFile == "" {
		return
	}
	took := time.Since(began)
	if err := s.updateMetrics(ctx, sub, took); err != nil {
		s.warn("name a file NAME.prom in the folder of node_exporter's textfile collector", "the metrics file is not written: %v", err)
	}
}

func (s *site) updateMetrics(ctx context.Context, sub *subject, took time.Duration) error {
	var debts []debtLine
	for _, store := range s.stores() {
		found, err := s.debts(ctx, store, "")
		if err != nil {
			return err
		}
		debts = append(debts, found...)
	}
	if s.uid == 0 {
		debts = append(debts, s.jobDebts(ctx, "")...)
	}
	unlock, err := lockFolder(filepath.Dir(s.opts.metricsFile))
	if err != nil {
		return err
	}
	defer unlock()
	if err := replaceable(s.opts.metricsFile); err != nil {
		return err
	}
	old, _ := os.ReadFile(s.opts.metricsFile)
	counts := readTally(string(old))
	if sub != nil {
		counts.add(sub.outcome, took)
	}
	return replaceFile(s.opts.metricsFile, metricsText(counts, debts))
}

// lockFolder keeps other processes of ours from the same folder. A file for
// the lock would be one more that the collector has to look at.
func lockFolder(path string) (func(), error) {
	folder, err := os.Open(cmp.Or(path, "."))
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(metricsPatience); ; time.Sleep(10 * time.Millisecond) {
		err := unix.Flock(int(folder.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = folder.Close() }, nil
		}
		if time.Now().After(end) {
			_ = folder.Close()
			return nil, fmt.Errorf("lock %q: %w", path, err)
		}
	}
}

// replaceable refuses what is there and no plain file: a rename would put a file
// in the place of a device, a pipe or a link, and as root /dev/null is one.
func replaceable(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && !info.Mode().IsRegular():
		return fmt.Errorf("%q is there, and no plain file", path)
	}
	return err
}

// replaceFile writes a file that everybody may read, all of it or nothing. The
// new name has another suffix, which the collector passes over.
func replaceFile(path, text string) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".job-cleanup-*.new")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // nothing is there after the rename
	_, err = file.WriteString(text)
	if err == nil {
		err = file.Chmod(0o644)
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
