// Package suggest finds the word a user most likely meant.
//
// It does not word the hint: it only compares words.
package suggest

import (
	"cmp"
	"slices"
	"strings"
)

// maxWord is the maximum length in bytes of a compared word. Longer words are not
// typing errors, and a comparison costs the product of the lengths.
const maxWord = 256

// Nearest returns the candidate closest to word, or "" when none is close.
func Nearest(word string, candidates []string) string {
	if l := List(word, candidates, 1); len(l) == 1 {
		return l[0]
	}
	return ""
}

type scored struct {
	word  string
	score int
}

// List returns at most n close candidates, best first; ties keep the order of
// the alphabet, so that the answer does not depend on the candidates' order.
func List(word string, candidates []string, n int) []string {
	var near []scored
	for _, c := range candidates {
		if s, ok := score(word, c); ok {
			near = append(near, scored{c, s})
		}
	}
	slices.SortFunc(near, func(a, b scored) int {
		return cmp.Or(
			cmp.Compare(a.score, b.score),
			cmp.Compare(a.word, b.word),
		)
	})
	var out []string
	for _, s := range slices.CompactFunc(near, func(a, b scored) bool { return a.word == b.word }) {
		if len(out) < n {
			out = append(out, s.word)
		}
	}
	return out
}

// score rates a candidate, smaller is closer: twice the edit distance, one more
// when the first letters differ. A beginning of the candidate comes before any
// edit, a difference in case before both.
func score(word, cand string) (int, bool) {
	if word == "" || cand == "" || len(word) > maxWord || len(cand) > maxWord {
		return 0, false
	}
	w := strings.ToLower(word)
	c := strings.ToLower(cand)
	if w == c {
		return 0, word != cand
	}
	if len(w) >= 3 && strings.HasPrefix(c, w) {
		return 1, true
	}
	a := []rune(w)
	b := []rune(c)
	d := distance(a, b)
	longer := max(len(a), len(b))
	if d > limit(longer) {
		return 0, false
	}
	if a[0] == b[0] {
		return 2 * d, true
	}
	return 2*d + 1, true
}

// limit is the maximum number of typing errors in a word of n letters.
func limit(n int) int {
	switch {
	case n <= 2:
		return 0
	case n <= 5:
		return 1
	case n <= 8:
		return 2
	}
	return n / 3
}

// Distance returns the number of typing errors between two words.
func Distance(a, b string) int {
	return distance([]rune(a), []rune(b))
}

// distance counts insertions, deletions, changes and swaps of adjacent letters.
func distance(a, b []rune) int {
	n := len(b) + 1
	before := make([]int, n)
	prev := make([]int, n)
	row := make([]int, n)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			deleted := prev[j] + 1
			inserted := row[j-1] + 1
			changed := prev[j-1] + cost
			row[j] = min(deleted, inserted, changed)
			if i > 1 &&
				j > 1 &&
				a[i-1] == b[j-2] &&
				a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, prev, row = prev, row, before
	}
	return prev[len(b)]
}
