package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"job-cleanup/pkg/outcome"
	"job-cleanup/test/servers"
)

var sample = regexp.MustCompile(`(?m)^([a-z_]+(?:\{[^}]*\})?) (\S+)$`)

// samples are the values of a metrics file, by series. Each may be there once;
// promtool, which knows all other rules, does not look for that.
func samples(t *testing.T, text string) map[string]float64 {
	t.Helper()
	values := map[string]float64{}
	for _, m := range sample.FindAllStringSubmatch(text, -1) {
		value, err := strconv.ParseFloat(m[2], 64)
		if _, twice := values[m[1]]; err != nil || twice {
			t.Errorf("%s: %v, twice: %t", m[0], err, twice)
		}
		values[m[1]] = value
	}
	return values
}

// someMetrics is a metrics file with all that can be in one.
func someMetrics() (tally, []debtLine) {
	counts := readTally("")
	counts.add(outcome.Outcome{Result: "success"}, 2*time.Second)
	counts.add(outcome.Outcome{Result: "evil\"} 1\n"}, time.Second)
	for i := range 2 * maxResults {
		counts.add(outcome.Outcome{Result: "word-" + strconv.Itoa(i)}, 0)
	}
	return counts, []debtLine{
		{Kind: "path", Since: time.Now().Add(-time.Hour), Stuck: true}, {Kind: "path"}, {Kind: "consul", Since: time.Now()},
	}
}

func TestMetricsFollowPrometheus(t *testing.T) {
	counts, debts := someMetrics()
	for name, text := range map[string]string{"full": metricsText(counts, debts), "empty": metricsText(readTally(""), nil)} {
		if wrong := servers.CheckMetrics(t, text); wrong != "" {
			t.Errorf("%s: %s in\n%s", name, wrong, text)
		}
	}
}

func TestMetricsText(t *testing.T) {
	counts, debts := someMetrics()
	text := metricsText(counts, debts)
	got := samples(t, text)
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
	if got := samples(t, string(text)); got[`job_cleanup_runs_total{result="timeout"}`] != 20 {
		t.Errorf("not 20 runs in %s", text)
	}
	info, _ := os.Stat(file)
	left, _ := os.ReadDir(dir)
	if info.Mode() != 0o644 || len(left) != 1 || errs.Len() > 0 {
		t.Errorf("mode %v, files %v, said %s", info.Mode(), left, errs.String())
	}
}
