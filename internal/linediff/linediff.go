// Package linediff writes the unified difference of two texts, line by line,
// as `diff -u` prints it and `git apply` reads it.
//
// It knows no files: names are only printed. It is not a patcher, and for
// texts that have nothing in common it prefers a quick answer (all out, all
// in) to the shortest one.
package linediff

import (
	"bytes"
	"fmt"
	"strings"
)

// context is the number of unchanged lines around a change.
const context = 3

// maxEdits bounds the search for the shortest script; its memory is the
// square of it.
const maxEdits = 1500

// Unified returns the unified difference of old and new, "" when they are
// equal. The names stand after "--- " and "+++ " as they are.
func Unified(oldName, newName string, old, new []byte) string {
	if bytes.Equal(old, new) {
		return ""
	}
	a, b := split(old), split(new)
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", oldName, newName)
	for _, h := range hunks(script(a, b)) {
		h.write(&out, a, b)
	}
	return out.String()
}

// split cuts a text after each newline; only the last line may lack one.
func split(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	lines := strings.SplitAfter(string(text), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// change replaces a[aLo:aHi] by b[bLo:bHi].
type change struct{ aLo, aHi, bLo, bHi int }

// script returns the changes from a to b in order, none touching the next.
func script(a, b []string) []change {
	pre := 0
	for pre < len(a) && pre < len(b) && a[pre] == b[pre] {
		pre++
	}
	suf := 0
	for suf < len(a)-pre && suf < len(b)-pre && a[len(a)-1-suf] == b[len(b)-1-suf] {
		suf++
	}
	cs := shortest(a[pre:len(a)-suf], b[pre:len(b)-suf])
	for i := range cs {
		cs[i] = change{cs[i].aLo + pre, cs[i].aHi + pre, cs[i].bLo + pre, cs[i].bHi + pre}
	}
	return cs
}

// shortest is Myers' greedy algorithm; after maxEdits steps it gives up and
// replaces everything.
func shortest(a, b []string) []change {
	if len(a) == 0 || len(b) == 0 {
		if len(a)+len(b) == 0 {
			return nil
		}
		return []change{{0, len(a), 0, len(b)}}
	}
	limit := min(len(a)+len(b), maxEdits)
	v := make([]int, 2*limit+3) // v[off+k]: the furthest x on diagonal k = x-y
	off := limit + 1
	var trace [][]int
	for d := 0; d <= limit; d++ {
		trace = append(trace, append([]int(nil), v[off-d-1:off+d+2]...))
		if advance(a, b, v, off, d) {
			return backtrack(a, b, trace)
		}
	}
	return []change{{0, len(a), 0, len(b)}}
}

// advance takes one more edit on every diagonal and reports the arrival.
func advance(a, b []string, v []int, off, d int) bool {
	for k := -d; k <= d; k += 2 {
		x := v[off+k-1] + 1
		if k == -d || k != d && v[off+k-1] < v[off+k+1] {
			x = v[off+k+1]
		}
		y := x - k
		for x < len(a) && y < len(b) && a[x] == b[y] {
			x, y = x+1, y+1
		}
		v[off+k] = x
		if x >= len(a) && y >= len(b) {
			return true
		}
	}
	return false
}

// backtrack walks from the end to the start; trace[d] is v before step d,
// from diagonal -d-1 to d+1.
func backtrack(a, b []string, trace [][]int) []change {
	var rev []change
	x, y := len(a), len(b)
	for d := len(trace) - 1; d > 0; d-- {
		k := x - y
		at := func(k int) int { return trace[d][k+d+1] }
		pk := k - 1
		if k == -d || k != d && at(k-1) < at(k+1) {
			pk = k + 1
		}
		px := at(pk)
		py := px - pk
		if pk == k+1 {
			rev = prepend(rev, change{px, px, py, py + 1})
		} else {
			rev = prepend(rev, change{px, px + 1, py, py})
		}
		x, y = px, py
	}
	for i, j := 0, len(rev)-1; i < j; i, j = i+1, j-1 {
		rev[i], rev[j] = rev[j], rev[i]
	}
	return rev
}

// prepend adds an earlier edit, melting it into the one that it touches.
func prepend(rev []change, c change) []change {
	if n := len(rev); n > 0 && c.aHi == rev[n-1].aLo && c.bHi == rev[n-1].bLo {
		rev[n-1].aLo, rev[n-1].bLo = c.aLo, c.bLo
		return rev
	}
	return append(rev, c)
}
