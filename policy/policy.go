// Package policy is the only permission code: it returns the capability that a
// call needs and reports whether a set of capabilities contains it.
//
// It authenticates no caller, checks no signature and runs nothing: the packages
// that dispatch calls ask it before each one.
package policy

import (
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/glob"
	"github.com/ryeos/rye/item"
)

// Verb is the kind of access of a call to an item.
type Verb string

// The four verbs, and Draft: running an item that only an agent's key has signed
// needs Draft in addition to Execute, since no person has reviewed the item.
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

// Needed returns the capability that a call needs. To search a kind, the ref has no
// id.
func Needed(v Verb, ref item.Ref) Cap {
	if v == Search && ref.ID == "" {
		return searchOf(ref.Kind)
	}
	return Cap("rye." + string(v) + "." + string(ref.Kind) + "." + ref.Dotted())
}

// searchOf returns the capability to search a kind and see all of its items.
func searchOf(kind item.Kind) Cap { return Cap("rye.search." + string(kind)) }

// Parse checks the spelling of a pattern.
func Parse(s string) (Cap, error) {
	segs := strings.Split(s, ".")
	bad := func(why string) error {
		return diag.New(diag.Usage, "reading capability %q: %s", s, why).WithReason("capability_form")
	}
	if segs[0] != "rye" || len(segs) < 2 {
		return "", bad("it does not begin with \"rye.\"")
	}
	for _, seg := range segs[1:] {
		if seg == "" {
			return "", bad("it has an empty segment")
		}
		if !segmentOK(seg) {
			return "", bad("segment \"" + seg + "\" has a character that is not allowed in ids, or an unclosed bracket")
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

// Covers reports whether the pattern includes the wanted capability.
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

// Set is the capabilities of one grant. The zero value is empty.
type Set []Cap

// Holds reports whether a capability of the set covers the wanted one.
func (s Set) Holds(want Cap) bool {
	return slices.ContainsFunc(s, func(c Cap) bool { return c.Covers(want) })
}
