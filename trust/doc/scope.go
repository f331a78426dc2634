package doc

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ryeos/rye/internal/glob"
	"github.com/ryeos/rye/item"
)

// Scope is what a key may sign and do. The zero Scope permits nothing.
type Scope struct {
	Kinds      []string `json:"kinds"`      // item kinds, or "*" for every kind
	Namespaces []string `json:"namespaces"` // globs over ids, "acme/**"
	May        []string `json:"may"`        // uses, see Uses
}

// DefaultUse is the use if none is given.
const DefaultUse = "sign"

// Uses returns the values that the field may accepts.
func Uses() []string {
	return []string{"sign", "release", "endorse", "rotate", "revoke", "provider"}
}

// GrantUses returns the uses that a grant gives by default. A grant key can give no
// other one.
func GrantUses() []string {
	return []string{"sign", "release", "rotate"}
}

// Allows reports whether the scope covers this kind, id and use. An empty use
// is DefaultUse.
func (s Scope) Allows(kind, id, use string) bool {
	return s.Denies(kind, id, use) == ""
}

// Denies returns the field of the scope that does not cover this kind, id and
// use: "may", "kinds" or "namespaces". It returns "" if the scope covers them.
func (s Scope) Denies(kind, id, use string) string {
	switch {
	case !slices.Contains(s.May, cmp.Or(use, DefaultUse)):
		return "may"
	case !MatchKind(s.Kinds, kind):
		return "kinds"
	case !MatchID(s.Namespaces, id):
		return "namespaces"
	}
	return ""
}

// Includes reports whether the scope covers every item that o covers, as far as the texts
// of the patterns show it.
func (s Scope) Includes(o Scope) bool {
	for _, k := range o.Kinds {
		if !MatchKind(s.Kinds, k) {
			return false
		}
	}
	for _, use := range o.May {
		if !slices.Contains(s.May, use) {
			return false
		}
	}
	return !slices.ContainsFunc(o.Namespaces, func(n string) bool {
		return !slices.ContainsFunc(s.Namespaces, func(p string) bool {
			return p == "**" || p == n || below(p, n)
		})
	})
}

// String returns the scope on one line.
func (s Scope) String() string {
	return "kinds " + Words(s.Kinds) + ", namespaces " + Words(s.Namespaces) + ", may " + Words(s.May)
}

// Words returns the list separated by spaces, or "none" if it is empty.
func Words(list []string) string {
	return cmp.Or(strings.Join(list, " "), "none")
}

// MatchKind reports whether the kinds of a scope include this kind.
func MatchKind(kinds []string, kind string) bool {
	return kind != "" && (slices.Contains(kinds, "*") || slices.Contains(kinds, kind))
}

// MatchID reports whether one of the patterns matches the id.
func MatchID(patterns []string, id string) bool {
	for _, p := range patterns {
		if id != "" && (p == "**" || below(p, id) || glob.Match(p, id)) {
			return true
		}
	}
	return false
}

// below is glob.Match for the most frequent form of pattern, "acme/**", at a
// fraction of its cost: Verify calls it for every file.
func below(pattern, id string) bool {
	dir, ok := strings.CutSuffix(pattern, "**")
	plain := strings.HasSuffix(dir, "/") &&
		dir[0] != '/' &&
		!strings.Contains(dir, "//") &&
		!glob.IsPattern(dir)
	return ok && plain && len(id) > len(dir) && strings.HasPrefix(id, dir)
}

func checkKind(s string) string {
	if s != "*" && item.CheckKind(item.Kind(s)) != nil {
		return `a kind is a word such as "tool", or "*"`
	}
	return ""
}

// checkPatternText returns why a pattern contains more than an id may, or "".
func checkPatternText(s string) string {
	if len(s) > item.MaxID {
		return "a pattern over ids has at most 255 bytes"
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return "a pattern over ids contains only visible ASCII characters, as ids do"
	}
	return ""
}

func checkNamespace(s string) string {
	if why := checkPatternText(s); why != "" {
		return why
	}
	if strings.HasPrefix(s, "/") || strings.HasSuffix(s, "/") {
		return "a pattern over ids does not begin or end with /"
	}
	if fs := glob.Check(s); len(fs) > 0 {
		return fs[0].Message
	}
	return ""
}

func checkUse(s string) string {
	if !slices.Contains(Uses(), s) {
		return "must be one of " + strings.Join(Uses(), " ")
	}
	return ""
}
