package trust

import (
	"slices"
	"strings"

	"github.com/ryeos/rye/internal/glob"
)

// Scope says what a key may vouch for. The zero Scope allows nothing.
type Scope struct {
	Kinds      []string `json:"kinds"`      // item kinds, or "*" for every kind
	Namespaces []string `json:"namespaces"` // globs over ids, "acme/**"
	May        []string `json:"may"`        // uses, see Uses
}

// DefaultUse is what Input.Use means when it is empty.
const DefaultUse = "sign"

// Uses returns the words that the field may accepts.
func Uses() []string {
	return []string{"sign", "release", "endorse", "rotate", "revoke", "provider"}
}

// Allows reports whether the scope covers this kind, id and use. An empty use
// is DefaultUse.
func (s Scope) Allows(kind, id, use string) bool { return s.denies(kind, id, use) == "" }

// denies returns which part of the scope refuses, "" when none does.
func (s Scope) denies(kind, id, use string) string {
	switch {
	case use == "":
		return s.denies(kind, id, DefaultUse)
	case !slices.Contains(s.May, use):
		return "may"
	case !hasKind(s.Kinds, kind):
		return "kinds"
	case !inNamespace(s.Namespaces, id):
		return "namespaces"
	}
	return ""
}

func hasKind(kinds []string, kind string) bool {
	for _, k := range kinds {
		if k == "*" || k == kind {
			return kind != ""
		}
	}
	return false
}

func inNamespace(patterns []string, id string) bool {
	for _, p := range patterns {
		if id != "" && (p == "**" || below(p, id) || glob.Match(p, id)) {
			return true
		}
	}
	return false
}

// below is glob.Match for the usual pattern "acme/**", without its cost.
func below(pattern, id string) bool {
	dir, ok := strings.CutSuffix(pattern, "**")
	plain := strings.HasSuffix(dir, "/") && dir[0] != '/' && !strings.Contains(dir, "//") && !glob.IsPattern(dir)
	return ok && plain && len(id) > len(dir) && strings.HasPrefix(id, dir)
}

// everything reports whether the list of kinds or namespaces names everything.
func everything(list []string, all string) bool { return all != "" && slices.Contains(list, all) }

// Bounds is a conjunction of scopes: what all of them allow. No Bounds at all
// allow nothing.
type Bounds []Bound

// Bound is one scope and the document it stands in.
type Bound struct {
	Scope  Scope  `json:"scope"`
	Source string `json:"source"` // path of the document, or "compiled in"
}

// Allows reports whether every scope allows it.
func (b Bounds) Allows(kind, id, use string) bool {
	_, part := b.denier(kind, id, use)
	return part == ""
}

// denier returns the first scope that refuses, and which part of it.
func (b Bounds) denier(kind, id, use string) (Bound, string) {
	for i := range b {
		if part := b[i].Scope.denies(kind, id, use); part != "" {
			return b[i], part
		}
	}
	if len(b) == 0 {
		return Bound{Source: "no document"}, "kinds"
	}
	return Bound{}, ""
}

// covers returns the first scope that does not cover this kind and id, whatever
// the use.
func (b Bounds) covers(kind, id string) (Bound, string) {
	for _, x := range b {
		switch {
		case !hasKind(x.Scope.Kinds, kind):
			return x, "kinds"
		case !inNamespace(x.Scope.Namespaces, id):
			return x, "namespaces"
		}
	}
	return Bound{}, ""
}

// may reports whether every scope lets the key do that.
func (b Bounds) may(use string) bool {
	for _, x := range b {
		if !slices.Contains(x.Scope.May, use) {
			return false
		}
	}
	return len(b) > 0
}

// Kinds returns the kinds that every scope names; "*" when each names "*".
func (b Bounds) Kinds() []string {
	return b.common("*", func(s Scope) []string { return s.Kinds })
}

// May returns the uses that every scope names.
func (b Bounds) May() []string {
	return b.common("", func(s Scope) []string { return s.May })
}

// Namespaces returns the lists of globs an id must match one of each; lists
// that allow every id and repeated lists are left out, so that the zero result
// means every id, unless there are no Bounds.
func (b Bounds) Namespaces() [][]string {
	var out [][]string
	for _, x := range b {
		list := slices.Clone(x.Scope.Namespaces)
		slices.Sort(list)
		list = slices.Compact(list)
		seen := slices.ContainsFunc(out, func(o []string) bool { return slices.Equal(o, list) })
		if !seen && !everything(list, "**") {
			out = append(out, list)
		}
	}
	return out
}

func (b Bounds) common(all string, pick func(Scope) []string) []string {
	var out []string
	for i, x := range b {
		list := pick(x.Scope)
		switch {
		case i == 0:
			out = slices.Clone(list)
		case everything(list, all):
		case everything(out, all):
			out = slices.Clone(list)
		default:
			out = slices.DeleteFunc(out, func(s string) bool { return !slices.Contains(list, s) })
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// String renders the scope on one line.
func (s Scope) String() string {
	return "kinds " + words(s.Kinds) + ", namespaces " + words(s.Namespaces) + ", may " + words(s.May)
}

// String renders what all scopes allow together, on one line.
func (b Bounds) String() string {
	ns := "every id"
	if len(b) == 0 {
		ns = "none"
	}
	for i, list := range b.Namespaces() {
		if i == 0 {
			ns = words(list)
		} else {
			ns += " within " + words(list)
		}
	}
	return "kinds " + words(b.Kinds()) + ", namespaces " + ns + ", may " + words(b.May())
}

func words(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, " ")
}
