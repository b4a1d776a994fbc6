package plan

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// nearest returns the candidate that a misspelled word most likely meant, or
// "" when none is near: a third of the letters may be wrong, four at most. Case
// counts for nothing. The first of equally near ones wins.
func nearest(word string, candidates []string) string {
	best, least := "", min(4, max(1, utf8.RuneCountInString(word)/3))+1
	for _, c := range candidates {
		if d := distance(strings.ToLower(word), strings.ToLower(c), least-1); d < least {
			best, least = c, d
		}
	}
	return best
}

// didYouMean is the hint for an unknown word: the nearest known one, else all
// of them.
func didYouMean(word string, known []string) string {
	if n := nearest(word, known); n != "" {
		return fmt.Sprintf("did you mean %q?", n)
	}
	return "known are " + strings.Join(known, ", ")
}

// distance is the number of letters to insert, delete, replace, or swap with
// their neighbour to get from a to b (optimal string alignment). Above most it
// stops counting and returns most+1, so that a long word costs no more than a
// short one.
func distance(a, b string, most int) int {
	x, y := []rune(a[:min(len(a), 256)]), []rune(b)
	if abs(len(x)-len(y)) > most {
		return most + 1
	}
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(row[j-1]+1, last[j]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return min(last[len(y)], most+1)
}

// abs is the absolute value.
func abs(n int) int { return max(n, -n) }
