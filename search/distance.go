package search

import "unicode/utf8"

// edits returns how many insertions, deletions, changes and swaps of
// neighbours lead from one word to the other, or more than limit.
func edits(a, b string, limit int) int {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] && a[0] < utf8.RuneSelf {
		a, b = a[1:], b[1:]
	}
	x, y := []rune(a), []rune(b)
	if len(x) > len(y) {
		x, y = y, x
	}
	if len(y)-len(x) > limit {
		return limit + 1
	}
	return distance(x, y, limit)
}

func distance(x, y []rune, limit int) int {
	var buf [3][maxToken + 1]uint8 // no token has more characters
	before, prev, row := buf[0][:len(y)+1], buf[1][:len(y)+1], buf[2][:len(y)+1]
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
				if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
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

// fits reports whether a token has the form of a pattern in which * stands for
// any characters.
func fits(pattern, s string) bool {
	star, back := -1, 0
	i, j := 0, 0
	for j < len(s) {
		switch {
		case i < len(pattern) && pattern[i] == '*':
			star, back = i, j
			i++
		case i < len(pattern) && pattern[i] == s[j]:
			i++
			j++
		case star >= 0:
			back++
			i, j = star+1, back
		default:
			return false
		}
	}
	for i < len(pattern) && pattern[i] == '*' {
		i++
	}
	return i == len(pattern)
}
