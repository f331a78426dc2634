package trust

import (
	"fmt"
	"slices"

	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// anchored reports whether the basis comes from outside the project: compiled
// in, in a directory of the system or the user, or the rotation of one of these.
func (b *basis) anchored() bool {
	return b.tier == TierEmbedded || b.tier == TierSystem || b.tier == TierUser
}

// anchor reports whether a basis outside the project makes the key an anchor
// with this use. What the project states does not narrow it, and neither time
// nor revocation ends it: these uses can only remove trust, and a document must
// not be able to undo a revocation.
func (e *entry) anchor(use string) bool {
	if e == nil ||
		e.weak ||
		e.conflict ||
		e.embeddedOnly ||
		e.grantOnly ||
		!e.above.may(use) {
		return false
	}
	for _, x := range e.bases {
		if x.anchored() && x.heldBefore(use) {
			return true
		}
	}
	return false
}

// Anchors reports whether a document outside the project makes the key an
// anchor with this use, such as endorse or revoke.
func (s *Store) Anchors(fp sign.Fingerprint, use string) bool {
	return s.keys[fp].anchor(use)
}

// heldBefore reports whether every earlier key of a chain of rotations had the
// use too.
func (b *basis) heldBefore(use string) bool {
	return b.rotation == nil || b.from.above.may(use) && b.prev.heldBefore(use)
}

// scopeLimit returns the scope outside the key's own documents that does not
// cover this kind, id and use. A key can delegate only what it has: a key for
// drafts can permit only keys for drafts.
func (b *basis) scopeLimit(kind, id, use string) (Bound, string) {
	switch {
	case b.rotation != nil:
		x, part := b.from.bounds.denier(kind, id, use)
		if part != "" {
			return x, part
		}
		return b.prev.scopeLimit(kind, id, use)
	case b.endorser != nil:
		part := b.grant.Scope.Denies(kind, id, use)
		if part != "" {
			return Bound{Scope: b.grant.Scope, Source: b.grant.Path}, part
		}
		return b.delegationLimit(kind, id, use)
	case b.granter != nil:
		// The granter's own uses do not limit a grant: the user decides what
		// another key may do, only its kinds and ids are attenuated.
		return b.granter.bounds.covers(kind, id)
	}
	return Bound{}, ""
}

// delegationLimit returns the first scope that stops an endorser from granting
// this use. An endorser may permit signing and releasing to new keys; it needs
// every other use itself.
func (b *basis) delegationLimit(kind, id, use string) (Bound, string) {
	x, part := b.endorser.bounds.covers(kind, id)
	if part == "" && use != "" && use != "sign" && use != "release" {
		x, part = b.endorser.bounds.denier(kind, id, use)
	}
	if part != "" {
		return x, part
	}
	return b.prev.scopeLimit(kind, id, "endorse")
}

// missingUse returns why the key lacks a use that its own documents permit: an
// endorsement in its chain leaves the use out, or its endorser lacks it. It
// returns "" if no endorsement does.
func (b *basis) missingUse(use string) string {
	for ; b != nil; b = b.prev {
		switch {
		case b.endorser == nil:
		case !slices.Contains(b.grant.Scope.May, use):
			return fmt.Sprintf("%s does not permit it to %s: %s", quoted(b.grant.Path), use, b.grant.Scope)
		case !b.endorser.bounds.may(use):
			return fmt.Sprintf(
				"key %s, which endorsed it in %s, may not %s itself",
				b.endorser.key.Short(),
				quoted(b.grant.Path),
				use,
			)
		}
	}
	return ""
}

// limits returns the scopes that bind a key in addition to its own documents, as
// far as they can be shown without an item.
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
		s := doc.Scope{Kinds: x.Scope.Kinds, Namespaces: x.Scope.Namespaces, May: b.grant.Scope.May}
		out = append(out, Bound{Scope: s, Source: x.Source})
	}
	return out
}
