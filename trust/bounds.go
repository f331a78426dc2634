package trust

import (
	"slices"
	"strings"

	"github.com/ryeos/rye/trust/doc"
)

// Bounds is a conjunction of scopes: what all of them permit. Empty Bounds
// permit nothing.
type Bounds []Bound

// Bound is one scope and the document that contains it.
// A grant reaches at most as far as the key that signed it.
type Bound struct {
	Scope  doc.Scope `json:"scope"`
	Source string    `json:"source"` // path of the document, or "compiled in"
}

// Allows reports whether every scope permits it.
func (b Bounds) Allows(kind, id, use string) bool {
	_, part := b.denier(kind, id, use)
	return part == ""
}

// denier returns the first scope that denies the kind, id and use, and the field
// of the scope that does.
func (b Bounds) denier(kind, id, use string) (Bound, string) {
	for i := range b {
		part := b[i].Scope.Denies(kind, id, use)
		if part != "" {
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
		case !doc.MatchKind(x.Scope.Kinds, kind):
			return x, "kinds"
		case !doc.MatchID(x.Scope.Namespaces, id):
			return x, "namespaces"
		}
	}
	return Bound{}, ""
}

// may reports whether every scope permits the use.
func (b Bounds) may(use string) bool {
	for _, x := range b {
		if !slices.Contains(x.Scope.May, use) {
			return false
		}
	}
	return len(b) > 0
}

// Kinds returns the kinds that every scope names; "*" if each names "*".
func (b Bounds) Kinds() []string {
	return b.common("*", func(s doc.Scope) []string {
		return s.Kinds
	})
}

// May returns the uses that every scope names.
func (b Bounds) May() []string {
	return b.common("", func(s doc.Scope) []string {
		return s.May
	})
}

// Namespaces returns lists of globs. An id must match one glob of each list.
// Lists that match every id and repeated lists are left out, so that the empty
// result means every id, unless there are no Bounds.
func (b Bounds) Namespaces() [][]string {
	var out [][]string
	for _, x := range b {
		list := slices.Clone(x.Scope.Namespaces)
		slices.Sort(list)
		list = slices.Compact(list)
		seen := slices.ContainsFunc(out, func(o []string) bool {
			return slices.Equal(o, list)
		})
		if !seen && !slices.Contains(list, "**") {
			out = append(out, list)
		}
	}
	return out
}

// common returns the entries that are in the picked list of every scope. A list
// with the entry all contains every entry; all is "" if no entry means that.
func (b Bounds) common(all string, pick func(doc.Scope) []string) []string {
	var out []string
	everything := func(list []string) bool {
		return all != "" && slices.Contains(list, all)
	}
	for i, x := range b {
		list := pick(x.Scope)
		switch {
		case i == 0:
			out = slices.Clone(list)
		case everything(list):
		case everything(out):
			out = slices.Clone(list)
		default:
			out = slices.DeleteFunc(out, func(s string) bool {
				return !slices.Contains(list, s)
			})
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// String returns the permissions that all scopes have in common, on one line.
func (b Bounds) String() string {
	ns := "every id"
	if len(b) == 0 {
		ns = "none"
	}
	for i, list := range b.Namespaces() {
		if i == 0 {
			ns = doc.Words(list)
		} else {
			ns += " within " + doc.Words(list)
		}
	}
	return "kinds " + doc.Words(b.Kinds()) + ", namespaces " + ns + ", may " + doc.Words(b.May())
}

// Drafts is the namespace of what agents write. An agent's key may sign only
// there.
const Drafts = "drafts/"

// Agent reports whether the key is an agent's: its scopes together permit
// nothing outside Drafts.
func (k KeyInfo) Agent() bool {
	return k.Scope.draftsOnly()
}

func (b Bounds) draftsOnly() bool {
	return slices.ContainsFunc(b.Namespaces(), func(globs []string) bool {
		return len(globs) > 0 &&
			!slices.ContainsFunc(globs, func(g string) bool {
				return !strings.HasPrefix(g, Drafts)
			})
	})
}
