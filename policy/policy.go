// Package policy is the only permission code: it returns the capability that a
// call needs and reports whether a set of capabilities contains it.
//
// It authenticates no caller, checks no signature and runs nothing: the packages
// that dispatch calls ask it before each one.
package policy

import (
	"errors"
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
func searchOf(kind item.Kind) Cap {
	return Cap("rye.search." + string(kind))
}

// Parse checks the spelling of a pattern. The reader of <permissions> uses the same
// rule.
func Parse(s string) (Cap, error) {
	why := glob.CheckDotted(s)
	if !strings.HasPrefix(s, "rye.") {
		why = errors.New("it does not begin with \"rye.\"")
	}
	if why != nil {
		if len(s) > glob.MaxDotted {
			s = s[:glob.MaxDotted] + "…"
		}
		return "", diag.New(diag.Usage, "reading capability %q: %w", s, why).WithReason("capability_form")
	}
	return Cap(s), nil
}

// Covers reports whether the pattern includes the wanted capability.
func (c Cap) Covers(want Cap) bool {
	pat := strings.Split(string(c), ".")
	have := strings.Split(string(want), ".")
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
	return slices.ContainsFunc(s, func(c Cap) bool {
		return c.Covers(want)
	})
}
