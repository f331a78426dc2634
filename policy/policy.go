// Package policy is the only permission code: it says which capability a call
// needs and whether a set of capabilities holds it.
//
// It authenticates nobody, trusts no signature and runs nothing: the rooms that
// dispatch ask it first, whoever calls.
package policy

import (
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/glob"
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

// matchSegment matches one segment. In a capability a set ends at the first "]",
// so "[]" matches no character and "[!]" matches any; package glob takes a "]"
// right after the opening as part of the set.
func matchSegment(pattern, s string) bool {
	if strings.Contains(pattern, "[]") {
		return false
	}
	return glob.Text(strings.ReplaceAll(pattern, "[!]", "?"), s)
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
