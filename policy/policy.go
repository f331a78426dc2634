// Package policy is the only permission code: it says which capability a call
// needs and whether a set of capabilities holds it.
//
// It authenticates nobody, trusts no signature and runs nothing: the rooms that
// dispatch ask it first, whoever calls.
package policy

import (
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

// Verb is what a call does to an item.
type Verb string

// The four verbs, and what running an item needs beside Execute when only an
// agent's key has signed it: nobody has read it yet.
const (
	Execute Verb = "execute"
	Search  Verb = "search"
	Load    Verb = "load"
	Sign    Verb = "sign"
	Draft   Verb = "draft"
)

// Cap is a capability or a pattern of capabilities, for example
// "rye.execute.tool.gh.*": segments joined by dots. A trailing * matches
// everything below, a * elsewhere one segment; ?, * and [...] match within a
// segment.
type Cap string

// Needed returns the capability that a call needs.
func Needed(v Verb, ref item.Ref) Cap {
	if v == Search {
		return Cap("rye.search." + string(ref.Kind))
	}
	return Cap("rye." + string(v) + "." + string(ref.Kind) + "." + ref.Dotted())
}

// Parse checks the spelling of a pattern.
func Parse(s string) (Cap, error) {
	segs := strings.Split(s, ".")
	bad := func(why string) error {
		return diag.New(diag.Usage, "reading capability %q: %s", s, why).
			WithHint("write rye.VERB.KIND.ID with dots, for example rye.execute.tool.gh.*")
	}
	if segs[0] != "rye" || len(segs) < 2 {
		return "", bad("it does not begin with rye.")
	}
	for _, seg := range segs[1:] {
		if seg == "" {
			return "", bad("it has an empty segment")
		}
		if !segmentOK(seg) {
			return "", bad("segment \"" + seg + "\" holds a character that no id has, or an open bracket")
		}
	}
	return Cap(s), nil
}

func segmentOK(seg string) bool {
	open := false
	for _, c := range []byte(seg) {
		switch {
		case c == '[' && !open:
			open = true
		case c == ']' && open:
			open = false
		case c == '!' && open:
		case c == '*' || c == '?' || c == '_' || c == '-':
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9':
		default:
			return false
		}
	}
	return !open
}

// Covers reports whether the pattern holds the wanted capability.
func (c Cap) Covers(want Cap) bool {
	pat, have := strings.Split(string(c), "."), strings.Split(string(want), ".")
	for i, p := range pat {
		if p == "*" && i == len(pat)-1 {
			return len(have) > i
		}
		if i >= len(have) || !matchSegment(p, have[i]) {
			return false
		}
	}
	return len(pat) == len(have)
}

// matchSegment matches one segment without backtracking over more than the
// last star, so that it is linear in practice and quadratic at worst.
func matchSegment(pat, s string) bool {
	p, i, star, mark := 0, 0, -1, 0
	for i < len(s) {
		if p < len(pat) && pat[p] == '*' {
			star, mark = p, i
			p++
			continue
		}
		if n, ok := matchByte(pat[min(p, len(pat)):], s[i]); ok {
			p, i = p+n, i+1
			continue
		}
		if star < 0 {
			return false
		}
		mark++
		p, i = star+1, mark
	}
	return strings.Trim(pat[min(p, len(pat)):], "*") == ""
}

// matchByte matches c against the first element of pat and returns the
// element's length.
func matchByte(pat string, c byte) (n int, ok bool) {
	if pat == "" {
		return 0, false
	}
	switch pat[0] {
	case '?':
		return 1, true
	case '[':
		end := strings.IndexByte(pat, ']')
		if end < 0 {
			return 1, c == '['
		}
		return end + 1, class(pat[1:end], c)
	}
	return 1, pat[0] == c
}

func class(set string, c byte) bool {
	set, negate := strings.CutPrefix(set, "!")
	in := false
	for i := 0; i < len(set); i++ {
		if i+2 < len(set) && set[i+1] == '-' {
			in = in || set[i] <= c && c <= set[i+2]
			i += 2
			continue
		}
		in = in || set[i] == c
	}
	return in != negate
}

// Set is what a caller holds. The zero value holds nothing.
type Set []Cap

// Person is what someone at a terminal holds.
func Person() Set { return Set{"rye.*"} }

// Holds reports whether any capability of the set covers the wanted one.
func (s Set) Holds(want Cap) bool {
	for _, c := range s {
		if c.Covers(want) {
			return true
		}
	}
	return false
}

// Check returns nil when the set allows the verb on the item, else
// PERMISSION_DENIED that names the missing capability.
func (s Set) Check(v Verb, ref item.Ref) error {
	want := Needed(v, ref)
	if s.Holds(want) {
		return nil
	}
	return diag.New(diag.PermissionDenied, "checking permission to %s %s: capability %s is not held", v, ref, want).
		WithDetail("missing", string(want))
}
