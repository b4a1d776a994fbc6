package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// event is what test2json documents, as far as it is used here.
type event struct {
	Action     string
	Package    string
	ImportPath string // of build output
	Test       string
	Output     string
}

// test is one test or subtest; of a package as a whole the name is empty.
type test struct{ pkg, name string }

// report collects how the tests ended.
type report struct {
	out    io.Writer
	ends   map[test]string // "pass", "fail" or "skip"
	output map[test][]string
	order  []test
}

func newReport(out io.Writer) *report {
	return &report{out: out, ends: map[test]string{}, output: map[test][]string{}}
}

// read takes events until their end.
func (r *report) read(events *json.Decoder) error {
	for {
		var ev event
		if err := events.Decode(&ev); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		r.take(ev)
	}
}

func (r *report) take(ev event) {
	one := test{ev.Package, ev.Test}
	switch ev.Action {
	case "build-output":
		fmt.Fprint(r.out, ev.Output)
	case "output":
		r.output[one] = append(r.output[one], ev.Output)
	case "pass", "fail", "skip":
		r.ends[one] = ev.Action
		r.order = append(r.order, one)
		r.show(one)
	}
}

// show prints what go test without -v would, and why a test was skipped.
func (r *report) show(one test) {
	end := r.ends[one]
	for _, line := range r.output[one] {
		noise := strings.HasPrefix(line, "=== ") || line == "PASS\n"
		if !noise && (one.name == "" || end != "pass") {
			fmt.Fprint(r.out, line)
		}
	}
	delete(r.output, one)
}

// totals counts tests without subtests, and subtests. What fails by itself is
// counted where it failed: a parent only if none of its subtests did, a
// package only if none of its tests did.
func (r *report) totals() (passed, failed, skipped int) {
	parents, blamed := map[test]bool{}, map[test]bool{}
	for _, one := range r.order {
		for above, ok := one.parent(); ok; above, ok = above.parent() {
			parents[above] = true
			if r.ends[one] == "fail" {
				blamed[above] = true
			}
		}
	}
	for _, one := range r.order {
		switch end := r.ends[one]; {
		case end == "fail" && !blamed[one]:
			failed++
		case one.name == "" || parents[one]:
		case end == "pass":
			passed++
		case end == "skip":
			skipped++
		}
	}
	return passed, failed, skipped
}

// parent returns the test that contains this one, or the package of a test.
func (t test) parent() (test, bool) {
	if t.name == "" {
		return test{}, false
	}
	slash := strings.LastIndexByte(t.name, '/')
	return test{t.pkg, t.name[:max(slash, 0)]}, true
}
