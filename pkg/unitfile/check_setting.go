package unitfile

import (
	"strconv"
	"strings"
	"time"

	"job-cleanup/pkg/expand"
)

// settingChecks look at the unit's settings of life and limits.
var settingChecks = []check{
	{"remain-after-exit", Err, remainAfterExit,
		"the unit stays active after the job, so the cleanup waits for its stop",
		"remove RemainAfterExit=yes"},
	{"small-limit", Err, smallLimit,
		"{} is too little for the cleanup itself, which ends at its start",
		"LimitAS=1G and LimitNPROC=64 are enough; bound memory with MemoryMax="},
	{"plan-over-stop", Err, planOverStop,
		"TimeoutSec= of the plan is longer than the unit's stop timeout of {}: the manager kills the cleanup and fails the job",
		"set TimeoutStopSec= of [Service] above it, half as much again"},
	{"stop-failure-kill", Warn, stopFailureKill,
		"TimeoutStopFailureMode={}: a cleanup that takes too long is killed without a warning, in the middle of its work",
		"remove TimeoutStopFailureMode="},
	{"kill-mode", Warn, killMode,
		"KillMode={}: processes of the job live on and write what is just being removed",
		"remove KillMode="},
	{"restart-lost", Warn, restartLost,
		"with {} a stop hook can keep Restart= from working",
		"use Requires= and After= instead, or do without Restart="},
}

func remainAfterExit(f *Facts) []place {
	e, on := f.switched("RemainAfterExit")
	return when(on, e, "")
}

// The least a Go program with all our clients needs to start: the run time
// reserves address space, and has a thread for each processor and more.
const (
	leastAddressSpace = 1 << 30
	leastProcesses    = 32
)

func smallLimit(f *Facts) []place {
	var out []place
	for _, limit := range []struct {
		key   string
		least uint64
	}{{"LimitAS", leastAddressSpace}, {"LimitNPROC", leastProcesses}} {
		e, _ := f.setting("Service", limit.key)
		soft, _, _ := strings.Cut(e.Value, ":")
		if n, ok := size(soft); ok && n < limit.least {
			out = append(out, place{e, limit.key + "=" + e.Value})
		}
	}
	return out
}

// size reads a number with a suffix K, M, G or T, by 1024.
func size(text string) (uint64, bool) {
	text = strings.TrimSpace(text)
	shift := 0
	if n := len(text); n > 0 {
		if at := strings.IndexByte("KMGT", text[n-1]); at >= 0 {
			shift, text = 10*(at+1), text[:n-1]
		}
	}
	n, err := strconv.ParseUint(text, 10, 64)
	return n << shift, err == nil && n<<shift>>shift == n
}

// defaultStop is DefaultTimeoutStopSec= as the manager is built.
const defaultStop = 90 * time.Second

func planOverStop(f *Facts) []place {
	e, limit := f.whole().Entry, defaultStop
	if set, ok := f.setting("Service", "TimeoutStopSec", "TimeoutSec"); ok {
		span, err := expand.Span(set.Value)
		if err != nil || span == 0 { // 0 is no limit
			return nil
		}
		e, limit = set, span
	}
	switch access, _ := f.setting("Service", "NotifyAccess"); access.Value {
	case "all", "exec": // the cleanup asks for more time as it goes
		return nil
	}
	return when(f.Timeout > limit, e, limit.String())
}

func stopFailureKill(f *Facts) []place {
	e, _ := f.setting("Service", "TimeoutStopFailureMode")
	return when(e.Value == "kill" || e.Value == "abort", e, e.Value)
}

func killMode(f *Facts) []place {
	e, _ := f.setting("Service", "KillMode")
	return when(e.Value == "process" || e.Value == "none", e, e.Value)
}

func restartLost(f *Facts) []place {
	if restart, _ := f.setting("Service", "Restart"); restart.Value == "" || restart.Value == "no" {
		return nil
	}
	if e, ok := f.setting("Unit", "BindsTo"); ok {
		return []place{{e, "BindsTo="}}
	}
	e, _ := f.setting("Unit", "StopWhenUnneeded")
	on, _ := Boolean(e.Value)
	return when(on, e, "StopWhenUnneeded=")
}
