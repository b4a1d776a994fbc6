package main

import (
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"job-cleanup/pkg/journal"
	"job-cleanup/pkg/outcome"
)

// pageRuns is how many runs a page shows. The newest stay.
const pageRuns = 5000

// checkPage says what does not go together with a page.
func (h historyOptions) checkPage(o *options) error {
	switch {
	case h.page == nil:
		return nil
	case *h.page == "":
		return usagef("--html history.html, or --html - for standard output", "--html names no file")
	case h.follow:
		return usagef("a page is made once; leave out --follow", "--html and --follow exclude each other")
	case o.json:
		return usagef("choose one; --json is for programs", "--html and --json exclude each other")
	}
	return nil
}

// writePage makes the page, all of it or nothing.
func (p *program) writePage(records iter.Seq2[journal.Entry, error], o *options, h historyOptions) error {
	s := newStory(pageRuns, h.wants)
	for e, err := range records {
		if err != nil {
			return err
		}
		s.add(e)
	}
	v := newPageView(s, pageQuestion{asked: h.asked(o), bounded: h.until != "", now: time.Now()})
	if len(v.Runs) == 0 {
		p.hint("journalctl keeps what it has room for; the page says that no cleanup is known")
	}
	if *h.page == "-" {
		return v.write(p.stdout)
	}
	return savePage(*h.page, v.write)
}

// wants reports whether a job is asked for.
func (h historyOptions) wants(j *pastJob) bool {
	_, ever := j.owes()
	return (!h.owed || ever > 0) && outcome.Matches(h.results, j.outcome)
}

// asked are the options that narrow the page, as they were written.
func (h historyOptions) asked(o *options) string {
	var words []string
	add := func(option, value string) {
		if value != "" {
			words = append(words, strings.TrimSpace(option+" "+value))
		}
	}
	add("", strings.Join(o.args, " "))
	add("--since", h.since)
	add("--until", h.until)
	add("--result", strings.Join(h.results, ","))
	add("--invocation", o.invocation)
	if h.owed {
		words = append(words, "--owed")
	}
	if o.user {
		words = append(words, "--user")
	}
	return strings.Join(words, " ")
}

// savePage writes a file for its owner alone: the page tells what the journal
// tells, which not everybody may read.
func savePage(path string, write func(io.Writer) error) error {
	if err := replaceable(path); err != nil {
		return usagef("name a new file, or --html - for standard output", "write the page: %v", err)
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".job-cleanup-*.html")
	if err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	defer os.Remove(file.Name()) // nothing is there after the rename
	err = write(file)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// pageRecords are the arguments of journalctl for all records that a page is
// made of.
func pageRecords() []string {
	var args []string
	for _, event := range storyEvents {
		args = append(args, "MESSAGE_ID="+event.MessageID())
	}
	return args
}
