package trust

import (
	"fmt"
	"slices"
	"time"

	"github.com/ryeos/rye/sign"
)

// anchored reports whether the basis stands outside the project: compiled in,
// in a folder of the system or the user, or the rotation of one that does.
func (b *basis) anchored() bool {
	return b.tier == TierEmbedded || b.tier == TierSystem || b.tier == TierUser
}

// anchor reports whether somebody outside the project made the key an anchor
// that may do this. What the project says does not narrow it, and neither time
// nor revocation ends it: what this allows can only take away, and who brings a
// document must not be able to undo a revocation with it.
func (e *entry) anchor(use string) bool {
	if e == nil || e.weak || e.conflict || e.embeddedOnly || !e.above.may(use) {
		return false
	}
	for _, x := range e.bases {
		if x.anchored() && x.heldBefore(use) {
			return true
		}
	}
	return false
}

// heldBefore reports whether every key before this one in a chain of rotations
// held the use too.
func (b *basis) heldBefore(use string) bool {
	return b.rotation == nil || b.from.above.may(use) && b.prev.heldBefore(use)
}

// handsOn returns the scope that keeps an endorser from handing this on. Who
// may endorse hands on what new keys have, to sign and to release; every other
// use only who holds it.
func (b *basis) handsOn(kind, id, use string) (Bound, string) {
	x, part := b.endorser.bounds.covers(kind, id)
	if part == "" && use != "" && use != "sign" && use != "release" {
		x, part = b.endorser.bounds.denier(kind, id, use)
	}
	if part != "" {
		return x, part
	}
	return b.prev.beyond(kind, id, "endorse")
}

// withheld says why a use that the key's own documents allow is not its own:
// what vouches for it leaves the use out, or comes from a key without it. ""
// means that nothing withholds it.
func (b *basis) withheld(use string) string {
	for ; b != nil; b = b.prev {
		switch {
		case b.endorser == nil:
		case !slices.Contains(b.grant.Scope.May, use):
			return fmt.Sprintf("%s does not let it %s: %s", quoted(b.grant.Path), use, b.grant.Scope)
		case !b.endorser.bounds.may(use):
			return fmt.Sprintf("key %s, which endorsed it in %s, may not %s itself", b.endorser.key.Short(), quoted(b.grant.Path), use)
		}
	}
	return ""
}

// limits are the scopes that bind a key besides its own documents, as far as
// they can be shown without an item.
func (b *basis) limits() Bounds {
	switch {
	case b == nil:
		return nil
	case b.rotation != nil:
		return slices.Concat(b.from.bounds, b.prev.limits())
	case b.endorser == nil:
		return nil
	}
	out := Bounds{{Scope: b.grant.Scope, Source: quoted(b.grant.Path)}}
	for _, x := range b.endorser.bounds {
		s := Scope{Kinds: x.Scope.Kinds, Namespaces: x.Scope.Namespaces, May: b.grant.Scope.May}
		out = append(out, Bound{Scope: s, Source: x.Source})
	}
	return out
}

// vouched reports whether the endorser vouches now for what it endorsed: as an
// anchor that may endorse, with a signature that still counts.
func (b *basis) vouched(s *Store, now time.Time) (ok bool, reason string) {
	d, e := b.grant, b.endorser
	who := fmt.Sprintf("the key %s that signed %s", e.key.Short(), quoted(d.Path))
	if !e.bounds.may("endorse") {
		return false, who + " may not endorse: " + e.bounds.String()
	}
	when := s.moment(d.Digest, d.Signed)
	if r := e.revokedAt(when); r != nil {
		return false, fmt.Sprintf("%s is revoked (%s)", who, r.Reason)
	}
	if ok, why := b.prev.stands(s, now); !ok {
		return false, who + " does not count: " + why
	}
	if code, why := b.prev.window(when, now); code != "" {
		return false, who + " does not count: " + why
	}
	return true, ""
}

// Anchors reports whether somebody outside the project made the key an anchor
// that may do this: endorse, revoke.
func (s *Store) Anchors(fp sign.Fingerprint, use string) bool { return s.keys[fp].anchor(use) }
