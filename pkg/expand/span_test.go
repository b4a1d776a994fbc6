package expand

import (
	"testing"
	"time"
)

func TestSpan(t *testing.T) {
	tests := []struct {
		in   string
		want time.Duration
	}{
		{"60", time.Minute}, {"0", 0}, {"5min 20s", 320 * time.Second}, {"1h30min", 90 * time.Minute},
		{"1.5h", 90 * time.Minute}, {".5s", 500 * time.Millisecond}, {"1d", 24 * time.Hour}, {"2 weeks", 14 * 24 * time.Hour},
		{"1M", 2629800 * time.Second}, {"1m", time.Minute}, {"1y", 31557600 * time.Second}, {"500ms", 500 * time.Millisecond},
		{"3us", 3 * time.Microsecond}, {"3µs", 3 * time.Microsecond}, {"1min 5", 65 * time.Second}, {" 2 s ", 2 * time.Second},
		{"infinity", Infinity}, {"0.000000001s", 1}, {"0.12345678901234567890123s", 123456789},
		{"1h0m1.5s", time.Hour + 1500*time.Millisecond},
	}
	for _, tt := range tests {
		if got, err := Span(tt.in); err != nil || got != tt.want {
			t.Errorf("Span(%q) = %v, %v; want %v", tt.in, got, err, tt.want)
		}
	}
	for _, in := range []string{"", " ", "x", "-5", "5 parsecs", "5 S", "1..5", ".", "1e3", "5min,", "infinity 5", "293y",
		"292y 292y", "9223372036.854775807s", "99999999999999999999", "9223372036854775807y"} {
		if got, err := Span(in); err == nil {
			t.Errorf("Span(%q) = %v, want an error", in, got)
		}
	}
}

// Recorded spans are written by time.Duration, so they must read the same.
func TestSpan_readsDurations(t *testing.T) {
	for _, d := range []time.Duration{time.Microsecond, 1500 * time.Microsecond, 1500 * time.Millisecond, 90 * time.Minute, 1000 * time.Hour, Infinity - 1} {
		if got, err := Span(d.String()); err != nil || got != d {
			t.Errorf("Span(%q) = %v, %v", d, got, err)
		}
	}
}
