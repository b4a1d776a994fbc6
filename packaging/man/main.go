// Command man makes the manual pages from the Markdown in docs, so that both
// say the same. It rewrites Markdown for forges into that of go-md2man, has it
// converted, and mends what would make the result bad to copy from.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// page is one manual page and where it comes from.
type page struct {
	source  string // in the docs folder
	name    string
	section int
	what    string // one line for apropos(1)
}

var pages = []page{
	{"commands.md", "job-cleanup", 1, "remove what a job left behind"},
	{"plan.md", "job-cleanup-plan", 5, "plans of cleanups, in units and in files"},
	{"concepts.md", "job-cleanup", 7, "how cleanups work: jobs, residue, ledger, sweep, journal"},
}

// file is the page's name in a man folder.
func (p page) file() string { return p.name + "." + strconv.Itoa(p.section) }

func main() {
	docs := flag.String("docs", "docs", "folder of the sources")
	out := flag.String("out", "build/man", "folder to write to")
	converter := flag.String("md2man", "go-md2man", "the converter")
	version := flag.String("version", "unknown", "version for the foot of the pages")
	stamp := flag.String("epoch", "", "seconds since 1970 for their date; without it they have none")
	flag.Parse()
	if err := makeAll(*docs, *out, *converter, foot{*version, date(*stamp)}); err != nil {
		fmt.Fprintln(os.Stderr, "man:", err)
		os.Exit(1)
	}
}

// foot is what a page says of its edition.
type foot struct{ version, date string }

// date is a day in UTC, the same wherever the pages are made.
func date(epoch string) string {
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return ""
	}
	return time.Unix(seconds, 0).UTC().Format(time.DateOnly)
}

func makeAll(docs, out, converter string, f foot) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for _, p := range pages {
		text, err := os.ReadFile(filepath.Join(docs, p.source))
		if err != nil {
			return err
		}
		roff, err := convert(converter, p.adapt(string(text), f))
		if err != nil {
			return fmt.Errorf("%s: %w", p.source, err)
		}
		if err := os.WriteFile(filepath.Join(out, p.file()), []byte(mend(roff)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// convert runs the converter. It tells on stderr what it can't convert, and
// succeeds all the same.
func convert(converter, markdown string) (string, error) {
	cmd := exec.Command(converter)
	var out, complaints bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewBufferString(markdown), &out, &complaints
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("run %q: %w", converter, err)
	}
	if complaints.Len() > 0 {
		return "", fmt.Errorf("%q complains: %s", converter, bytes.TrimSpace(complaints.Bytes()))
	}
	return out.String(), nil
}
