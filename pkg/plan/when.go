package plan

import (
	"fmt"
	"slices"
	"strings"

	"job-cleanup/pkg/expand"
	"job-cleanup/pkg/residue"
)

// when reads the words of one When= line.
func (c *compiler) when(raw string) ([]string, expand.Use, error) {
	text, use, err := c.value(residue.String, raw)
	if err != nil {
		return nil, use, err
	}
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil, use, faultf("write a result word", "no word is left of %q", raw)
	}
	for _, w := range words {
		err := checkWhen(w)
		if err != nil && use.Env {
			err = faultf("set it to words such as failure or timeout", "what %q stands for is no result word", raw)
		}
		if err != nil {
			return nil, use, err
		}
	}
	return words, use, nil
}

// checkWhen refuses what can't be a result word, and what looks like a known
// one misspelled: such a step would never run, and nobody would notice.
func checkWhen(w string) error {
	var known []string
	for _, k := range whenWords {
		if k.word == w {
			return nil
		}
		known = append(known, k.word)
	}
	for i, r := range w {
		if !(r >= 'a' && r <= 'z' || i > 0 && (r == '-' || r >= '0' && r <= '9')) {
			return faultf(didYouMean(w, known), "%q is not a result word: lower-case letters, digits and dashes", w)
		}
	}
	if n := nearest(w, known); n != "" && distance(w, n, 2) <= 2 {
		return faultf(fmt.Sprintf("did you mean %q?", n), "unknown result word %q", w)
	}
	return nil
}

// simplify sorts out repetitions; with "always" no other word counts.
func simplify(words []string) []string {
	var kept []string
	for _, w := range words {
		if w == "always" {
			return nil
		}
		if !slices.Contains(kept, w) {
			kept = append(kept, w)
		}
	}
	return kept
}
