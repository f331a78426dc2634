package search

import (
	"unicode/utf8"
)

// edits returns the number of insertions, deletions, changes and swaps of adjacent
// characters between two words, or limit+1 if it is larger than limit.
func edits(a, b string, limit int) int {
	d := len(a) - len(b)
	if d > utf8.UTFMax*limit || -d > utf8.UTFMax*limit {
		return limit + 1
	}
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] && a[0] < utf8.RuneSelf {
		a = a[1:]
		b = b[1:]
	}
	if ascii(a) && ascii(b) {
		return distance([]byte(a), []byte(b), limit)
	}
	return distance([]rune(a), []rune(b), limit)
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// distance is edits for words as bytes or runes.
func distance[E byte | rune](x, y []E, limit int) int {
	if len(x) > len(y) {
		x, y = y, x
	}
	if len(y)-len(x) > limit {
		return limit + 1
	}
	var buf [3][maxToken + 1]uint8 // no token is longer
	before := buf[0][:len(y)+1]
	prev := buf[1][:len(y)+1]
	row := buf[2][:len(y)+1]
	for j := range prev {
		prev[j] = uint8(j)
	}
	for i := 1; i <= len(x); i++ {
		row[0] = uint8(i)
		best := uint8(i)
		for j := 1; j <= len(y); j++ {
			d := prev[j-1]
			if x[i-1] != y[j-1] {
				d = min(d, prev[j], row[j-1]) + 1
				if i > 1 &&
					j > 1 &&
					x[i-1] == y[j-2] &&
					x[i-2] == y[j-1] {
					d = min(d, before[j-2]+1)
				}
			}
			row[j] = d
			best = min(best, d)
		}
		if int(best) > limit {
			return limit + 1
		}
		before, prev, row = prev, row, before
	}
	return int(prev[len(y)])
}
