package policy

import (
	"slices"
	"strings"
)

// Narrow returns what both sets hold, written with patterns of either. Where
// two patterns overlap and neither lies within the other, their common part is
// left out: the result never holds more than both do.
func Narrow(a, b Set) Set {
	out := Set{}
	for _, c := range a {
		if b.within(c) {
			out = append(out, c)
		}
	}
	for _, c := range b {
		if a.within(c) && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// within reports whether one pattern of the set holds all that c does.
func (s Set) within(c Cap) bool {
	return slices.ContainsFunc(s, func(p Cap) bool { return p.contains(c) })
}

// contains reports whether c surely holds everything that the pattern other
// holds. A segment with wildcards counts as held by a lone * and by itself.
func (c Cap) contains(other Cap) bool {
	pat, have := strings.Split(string(c), "."), strings.Split(string(other), ".")
	for i, p := range pat {
		if p == "*" && i == len(pat)-1 {
			return len(have) > i
		}
		if i >= len(have) {
			return false
		}
		switch {
		case have[i] == "*" && i == len(have)-1: // everything below, not one segment
			return false
		case p == "*" || p == have[i]:
		case strings.ContainsAny(have[i], "*?["):
			return false
		case !matchSegment(p, have[i]):
			return false
		}
	}
	return len(pat) == len(have)
}

// Any reports whether the set holds the verb for anything at all.
func (s Set) Any(v Verb) bool {
	return slices.ContainsFunc(s, func(c Cap) bool {
		segs := strings.Split(string(c), ".")
		return segs[0] == "rye" && len(segs) > 1 && (segs[1] == "*" || matchSegment(segs[1], string(v)))
	})
}
