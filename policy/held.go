package policy

import (
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

// MaxHeld is the largest number of grants of a call, which is how deep calls nest.
const MaxHeld = 64

// Grant is one set of capabilities that a call must stay within, and where the set
// is from: "person", "server:rye serve", "config:agent/mcp in …", "tool:x/y calls".
type Grant struct {
	Caps    Set
	Profile *Profile // the ceiling of the sandbox of what the call starts; nil sets no ceiling
	Source  string
}

// Held is the grants of a call, from the root caller down to the item that makes the
// call. A call is permitted if every grant permits it. The nil Held permits nothing.
//
// The grants are never merged into one set: two patterns that overlap can lack a
// common pattern.
type Held []Grant

// Person returns the grant of a user at a terminal: everything.
func Person() Held {
	return Held{{Caps: Set{"rye.*"}, Source: "person"}}
}

// With returns the grants and one more. The result never permits more than h, and
// nothing if it has more than MaxHeld grants.
func (h Held) With(g Grant) Held {
	return append(slices.Clip(slices.Clone(h)), g)
}

// Allows returns nil if every grant permits the verb on the item. Else it returns
// PERMISSION_DENIED with the missing capability as the detail "missing" and the first
// grant that lacks it as "source", or LIMIT_EXCEEDED for too many grants.
//
// Search without an id asks whether the kind may be searched at all, which a
// capability for one item of the kind permits; with an id, whether the item is shown.
//
// More than 64 grants are LIMIT_EXCEEDED here and not where one is added: an append that fails
// could be ignored, and the call would keep its wider list.
func (h Held) Allows(v Verb, ref item.Ref) error {
	doing := "checking permission to " + string(v) + " " + ref.String()
	if v == Search && ref.ID == "" {
		doing = "checking permission to search items of the kind " + string(ref.Kind)
	}
	want := Needed(v, ref)
	if err := h.usable(doing, want); err != nil {
		return err
	}
	for _, g := range h {
		if !g.Caps.allows(v, ref) {
			return denied(doing, want, g.Source)
		}
	}
	return nil
}

// AllowsAny returns nil if every grant permits the verb on at least one item. These
// can be different items: it decides what is offered, and Allows what is done.
func (h Held) AllowsAny(v Verb) error {
	doing := "checking permission to " + string(v)
	want := Cap("rye." + string(v) + ".*")
	if err := h.usable(doing, want); err != nil {
		return err
	}
	for _, g := range h {
		if !g.Caps.Any(v) {
			return denied(doing, want, g.Source)
		}
	}
	return nil
}

// usable returns an error if h permits nothing, whatever its grants contain.
func (h Held) usable(doing string, want Cap) error {
	switch {
	case len(h) == 0:
		return denied(doing, want, "a caller without permissions")
	case len(h) > MaxHeld:
		return diag.New(diag.LimitExceeded, "%s: calls are nested more than %d deep", doing, MaxHeld).
			WithDetail("limit", "grants").
			WithDetail("max", MaxHeld).
			WithDetail("measured", len(h))
	}
	return nil
}

func denied(doing string, want Cap, source string) error {
	return diag.New(diag.PermissionDenied, "%s: %s lacks the capability %s", doing, source, want).
		WithDetail("missing", string(want)).WithDetail("source", source)
}

// Searchable returns the kinds that h permits to search, and a function that reports
// which of their items are shown, nil if all are.
func (h Held) Searchable(kinds []item.Kind) (may []item.Kind, shown func(item.Ref) bool, err error) {
	if err := h.AllowsAny(Search); err != nil {
		return nil, nil, err
	}
	partly := map[item.Kind][]Set{} // the grants that show some items of the kind
	for _, kind := range kinds {
		err := h.Allows(Search, item.Ref{Kind: kind})
		if err != nil {
			continue
		}
		may = append(may, kind)
		for _, g := range h {
			if !g.Caps.Holds(searchOf(kind)) {
				partly[kind] = append(partly[kind], g.Caps)
			}
		}
	}
	switch {
	case len(may) == 0:
		return nil, nil, h.noKind(kinds)
	case len(partly) == 0:
		return may, nil, nil
	}
	// Every match of a query is asked about, so nothing is formatted here.
	return may, func(ref item.Ref) bool {
		if !slices.Contains(may, ref.Kind) {
			return false
		}
		want := Needed(Search, ref)
		return !slices.ContainsFunc(partly[ref.Kind], func(s Set) bool {
			return !s.Holds(want)
		})
	}, nil
}

// noKind returns the error of a caller who may search none of the kinds.
func (h Held) noKind(kinds []item.Kind) error {
	if len(kinds) == 1 {
		return h.Allows(Search, item.Ref{Kind: kinds[0]})
	}
	for _, g := range h {
		if !slices.ContainsFunc(kinds, func(k item.Kind) bool { return g.Caps.allows(Search, item.Ref{Kind: k}) }) {
			return denied("checking permission to search", "rye.search.*", g.Source)
		}
	}
	return diag.New(diag.PermissionDenied, "checking permission to search: no kind is permitted by all of: %s", strings.Join(h.Sources(), "; ")).
		WithDetail("missing", "rye.search.*").WithDetail("source", strings.Join(h.Sources(), "; "))
}

// Sources returns where the grants are from, in their order.
func (h Held) Sources() []string {
	out := make([]string, len(h))
	for i, g := range h {
		out[i] = g.Source
	}
	return out
}

// Caps returns the capabilities that h permits for certain, as one set for display.
func (h Held) Caps() Set {
	if len(h) == 0 || len(h) > MaxHeld {
		return Set{}
	}
	out := h[0].Caps
	for _, g := range h[1:] {
		out = Narrow(out, g.Caps)
	}
	return out
}

// allows reports whether the set permits the verb on the item. The pattern
// rye.search.KIND permits to see every item of the kind.
func (s Set) allows(v Verb, ref item.Ref) bool {
	if v != Search {
		return s.Holds(Needed(v, ref))
	}
	kind := searchOf(ref.Kind)
	if s.Holds(kind) {
		return true
	}
	if ref.ID == "" {
		return slices.ContainsFunc(s, func(c Cap) bool {
			return c.below(kind)
		})
	}
	return s.Holds(Needed(v, ref))
}

// below reports whether the pattern can cover capabilities below parent.
func (c Cap) below(parent Cap) bool {
	pat := strings.Split(string(c), ".")
	above := strings.Split(string(parent), ".")
	if len(pat) <= len(above) {
		return false
	}
	for i, segment := range above {
		if !matchSegment(pat[i], segment) {
			return false
		}
	}
	return true
}
