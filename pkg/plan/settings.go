package plan

import (
	"time"

	"job-cleanup/pkg/expand"
	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/unitfile"
)

// defaultMaxJob is MaxJobSec= when no plan sets it.
const defaultMaxJob = 24 * time.Hour

// settings reads the [X-Cleanup] sections as one. A setting that can't be
// read keeps its default.
func (c *compiler) settings(sections []unitfile.Section) {
	c.plan.Settings = Settings{MaxJob: defaultMaxJob}
	var entries []unitfile.Entry
	for _, s := range sections {
		for _, b := range s.Bad {
			c.report(badLine(b))
		}
		for _, e := range s.Entries {
			if _, ok := optionOf(settingKeys, e.Key); !ok {
				c.report(unknownKey(e, optionKeys(settingKeys)))
			}
		}
		entries = append(entries, s.Entries...)
	}
	entries = effective(entries)
	for _, o := range settingKeys {
		e, ok := last(entries, o.Key)
		if !ok {
			continue
		}
		if err := c.setting(o, e.Value); err != nil {
			c.report(c.problem(e, err))
		}
	}
}

// setting reads one.
func (c *compiler) setting(o residue.Option, raw string) error {
	text, _, err := c.value(o.Value, raw)
	if err != nil {
		return err
	}
	s := &c.plan.Settings
	switch o.Key {
	case "ExitPolicy":
		if text != "strict" && text != "lenient" {
			return faultf(didYouMean(raw, []string{"strict", "lenient"}), "unknown policy %q", raw)
		}
		s.Strict = text == "strict"
	case "TimeoutSec":
		d, err := limit(text)
		if err == nil && d == expand.Infinity {
			err = faultf("write a time, as 5min", "the cleanup needs an end")
		}
		if err != nil {
			return err
		}
		s.Timeout = d
	case "MaxJobSec":
		d, err := limit(text)
		if err != nil {
			return err
		}
		s.MaxJob = d
	}
	return nil // Reset= was obeyed when the files were merged
}

// limit reads a time limit, which can't be zero.
func limit(text string) (time.Duration, error) {
	d, err := expand.Span(text)
	if err == nil && d == 0 {
		err = faultf("leave it away, or write a time", "no time at all")
	}
	return d, err
}

// effective leaves out what an empty assignment takes back, and itself.
func effective(entries []unitfile.Entry) []unitfile.Entry {
	reset := map[string]int{} // key → index of its last empty assignment
	for i, e := range entries {
		if e.Value == "" {
			reset[e.Key] = i
		}
	}
	var kept []unitfile.Entry
	for i, e := range entries {
		if at, ok := reset[e.Key]; !ok || i > at {
			kept = append(kept, e)
		}
	}
	return kept
}

// last returns the entry of a key that counts.
func last(entries []unitfile.Entry, key string) (unitfile.Entry, bool) {
	for i := len(entries) - 1; i >= 0; i-- {
		if entries[i].Key == key {
			return entries[i], true
		}
	}
	return unitfile.Entry{}, false
}
