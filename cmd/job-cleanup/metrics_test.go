package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"job-cleanup/pkg/outcome"
)

var (
	metricHead = regexp.MustCompile(`^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$`)
	sample     = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[a-zA-Z_][a-zA-Z0-9_]*="[^"\\\n]*"\})? (\S+)$`)
)

// parseMetrics is strict about the text format: help and type before the
// samples of each family, once; each series once; a newline at the end.
func parseMetrics(text string) (map[string]float64, error) {
	values, kind, helped, current := map[string]float64{}, map[string]string{}, map[string]bool{}, ""
	if !strings.HasSuffix(text, "\n") {
		return nil, fmt.Errorf("no newline at the end")
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if m := metricHead.FindStringSubmatch(line); m != nil {
			switch name := m[2]; {
			case m[1] == "HELP" && helped[name], m[1] == "TYPE" && (kind[name] != "" || !helped[name]):
				return nil, fmt.Errorf("out of order: %s", line)
			case m[1] == "HELP":
				helped[name] = true
			case m[3] != "gauge" && m[3] != "counter" && m[3] != "summary":
				return nil, fmt.Errorf("type: %s", line)
			default:
				kind[name], current = m[3], name
			}
			continue
		}
		m := sample.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("no sample: %q", line)
		}
		family := m[1]
		if kind[current] == "summary" {
			family = strings.TrimSuffix(strings.TrimSuffix(family, "_sum"), "_count")
		}
		value, err := strconv.ParseFloat(m[3], 64)
		_, twice := values[m[1]+m[2]]
		if err != nil || twice || family != current || kind[current] == "counter" && !strings.HasSuffix(current, "_total") {
			return nil, fmt.Errorf("bad sample: %q", line)
		}
		values[m[1]+m[2]] = value
	}
	return values, nil
}

func TestMetricsText(t *testing.T) {
	var counts = readTally("")
	counts.add(outcome.Outcome{Result: "success"}, 2*time.Second)
	counts.add(outcome.Outcome{Result: "evil\"} 1\n"}, time.Second)
	for i := range 2 * maxResults {
		counts.add(outcome.Outcome{Result: "word-" + strconv.Itoa(i)}, 0)
	}
	debts := []debtLine{
		{Kind: "path", Since: time.Now().Add(-time.Hour), Stuck: true}, {Kind: "path"}, {Kind: "consul", Since: time.Now()},
	}
	text := metricsText(counts, debts)
	got, err := parseMetrics(text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	for name, want := range map[string]float64{
		`job_cleanup_owed{kind="path"}`: 2, `job_cleanup_owed{kind="consul"}`: 1, `job_cleanup_owed{kind="vault"}`: 0,
		"job_cleanup_owed_stuck": 1, "job_cleanup_owed_oldest_age_seconds": 3600,
		`job_cleanup_runs_total{result="success"}`: 1, "job_cleanup_run_duration_seconds_sum": 3,
		"job_cleanup_run_duration_seconds_count": 2 + 2*maxResults,
	} {
		if value, ok := got[name]; !ok || value != want {
			t.Errorf("%s is %v, want %v", name, value, want)
		}
	}
	if got[`job_cleanup_runs_total{result="other"}`] < maxResults || len(counts.runs) > maxResults+1 {
		t.Errorf("%d words are counted", len(counts.runs))
	}
	if again := metricsText(readTally(text), debts); again != text {
		t.Errorf("the file read back is another one:\n%s", again)
	}
}

// Hooks that end at once lose no count, and a reader never sees half a file.
func TestMetricsFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "job-cleanup.prom")
	var errs strings.Builder
	s := &site{program: &program{uid: 1000, stderr: &errs}, opts: &options{metricsFile: file}}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { s.metrics(t.Context(), &subject{outcome: outcome.Outcome{Result: "timeout"}}, time.Now()) })
	}
	all.Wait()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err, errs.String())
	}
	got, err := parseMetrics(string(text))
	if err != nil || got[`job_cleanup_runs_total{result="timeout"}`] != 20 {
		t.Errorf("%v: %s", err, text)
	}
	info, _ := os.Stat(file)
	left, _ := os.ReadDir(dir)
	if info.Mode() != 0o644 || len(left) != 1 || errs.Len() > 0 {
		t.Errorf("mode %v, files %v, said %s", info.Mode(), left, errs.String())
	}
}
