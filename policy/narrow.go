package policy

import (
	"slices"
	"strings"
)

// Narrow returns the capabilities of both sets, as patterns of either. If two
// patterns overlap and neither includes the other, their common part is left
// out, so the result never includes more than both sets.
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

// within reports whether one pattern of the set includes all of c.
func (s Set) within(c Cap) bool {
	return slices.ContainsFunc(s, func(p Cap) bool {
		return p.contains(c)
	})
}

// contains reports whether c certainly includes all of the pattern other. A
// segment with wildcards is included in "*" and in itself only.
func (c Cap) contains(other Cap) bool {
	pat := strings.Split(string(c), ".")
	have := strings.Split(string(other), ".")
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

// Any reports whether the set permits the verb on at least one item.
func (s Set) Any(v Verb) bool {
	return slices.ContainsFunc(s, func(c Cap) bool {
		segs := strings.Split(string(c), ".")
		return segs[0] == "rye" &&
			len(segs) > 1 &&
			(segs[1] == "*" || matchSegment(segs[1], string(v)))
	})
}
