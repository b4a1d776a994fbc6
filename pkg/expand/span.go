package expand

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// Infinity is the span "infinity".
const Infinity = time.Duration(math.MaxInt64)

// units are the units of systemd.time(7); a month is 30.44 days, a year
// 365.25. Only "M" needs its case.
var units = map[string]time.Duration{
	"us": time.Microsecond, "usec": time.Microsecond, "µs": time.Microsecond, "μs": time.Microsecond,
	"ms": time.Millisecond, "msec": time.Millisecond,
	"": time.Second, "s": time.Second, "sec": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": day, "day": day, "days": day,
	"w": 7 * day, "week": 7 * day, "weeks": 7 * day,
	"M": month, "month": month, "months": month,
	"y": year, "year": year, "years": year,
}

const (
	day   = 24 * time.Hour
	month = 2629800 * time.Second
	year  = 31557600 * time.Second
)

// Span reads a time span: numbers with units that add up ("5min 20s",
// "1h30min", "1.5h"), a number without one is seconds, "infinity" is Infinity.
// What time.Duration can't hold (292 years) is an error.
func Span(text string) (time.Duration, error) {
	rest := strings.Trim(text, " \t")
	if rest == "infinity" {
		return Infinity, nil
	}
	if rest == "" {
		return 0, badSpan(text)
	}
	var total time.Duration
	for rest != "" {
		d, after, err := oneSpan(rest)
		if err != nil {
			return 0, err
		}
		if d >= Infinity-total {
			return 0, faultf(`write "infinity" for no limit`, "time span %q is too long", text)
		}
		total += d
		rest = strings.TrimLeft(after, " \t")
	}
	return total, nil
}

// oneSpan reads a number and its unit from the start of text.
func oneSpan(text string) (d time.Duration, rest string, err error) {
	whole, rest := digits(text)
	var frac string
	if after, ok := strings.CutPrefix(rest, "."); ok {
		if frac, rest = digits(after); frac == "" {
			return 0, "", badSpan(text)
		}
	}
	if whole == "" && frac == "" {
		return 0, "", badSpan(text)
	}
	rest = strings.TrimLeft(rest, " \t")
	name := rest[:len(rest)-len(strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZµμ"))]
	unit, ok := units[name]
	if !ok {
		return 0, "", faultf("units are us ms s min h d w month y", "unknown unit of time %q", name)
	}
	n, err := strconv.ParseInt("0"+whole, 10, 64)
	if err != nil || n > int64(Infinity/unit) {
		return 0, "", faultf(`write "infinity" for no limit`, "time span %q is too long", text)
	}
	d = time.Duration(n) * unit
	part := fraction(frac, unit)
	if d > Infinity-part {
		return 0, "", faultf(`write "infinity" for no limit`, "time span %q is too long", text)
	}
	return d + part, rest[len(name):], nil
}

// fraction returns the part of a unit that the digits behind a point make.
func fraction(frac string, unit time.Duration) time.Duration {
	const most = 18 // 10^18 fits; what comes behind is below a nanosecond
	frac = frac[:min(len(frac), most)]
	if frac == "" {
		return 0
	}
	n, scale := uint64(0), uint64(1)
	for _, c := range []byte(frac) {
		n, scale = n*10+uint64(c-'0'), scale*10
	}
	hi, lo := bits.Mul64(n, uint64(unit))
	quo, _ := bits.Div64(hi, lo, scale)
	return time.Duration(quo)
}

// digits cuts the decimal digits off the start of text.
func digits(text string) (number, rest string) {
	rest = strings.TrimLeft(text, "0123456789")
	return text[:len(text)-len(rest)], rest
}

// badSpan is the error for what is no time span.
func badSpan(text string) *Error {
	return faultf(`write numbers with units, as "5min 20s"; plain numbers are seconds`, "%q is not a time span", text)
}
