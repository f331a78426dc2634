package trust

import (
	"fmt"
	"time"

	"github.com/ryeos/rye/sign"
)

func (s *Store) explainRevocation(_ Verdict, _ Input) string {
	if s.fresh.asOf.IsZero() {
		return "nothing known revokes this signature"
	}
	return fmt.Sprintf("nothing known revokes this signature; %s lists what was known at %s", s.fresh.path, stamp(s.fresh.asOf))
}

// explainKey describes a key: its documents, each basis and whether it is valid, the
// documents that are not used, its revocations, and the project's set.
func (s *Store) explainKey(fp sign.Fingerprint) []string {
	e := s.keys[fp]
	if fp == (sign.Fingerprint{}) {
		return nil
	}
	out := []string{"about key " + fp.String() + ":"}
	if e == nil {
		return append(out, "  no document names it", "  "+s.set.line())
	}
	now := s.clockTime()
	for _, d := range e.documents {
		out = append(out, fmt.Sprintf(
			"  document %s (%s tier): %s",
			quoted(d.Path),
			d.tier,
			d.Scope,
		))
	}
	for _, x := range e.bases {
		out = append(out, explainBasis(x, now)...)
	}
	if len(e.bases) == 0 {
		out = append(out, "  nothing grants it trust")
	}
	for _, n := range e.notes {
		out = append(out, "  considered: "+n)
	}
	for _, r := range e.revocations {
		out = append(out, "  revocation "+r.describe())
	}
	for _, why := range e.ignored {
		out = append(out, "  "+why)
	}
	return append(out, "  "+s.set.line())
}

// explainBasis returns one reason to trust a key, with every rotation that it
// depends on.
func explainBasis(x *basis, now time.Time) []string {
	line := "  " + x.describe()
	if ok, why := x.valid(now); ok {
		line += ": valid"
	} else {
		line += ": not valid, " + why
	}
	out := []string{line}
	for y := x; y.rotation != nil; y = y.prev {
		out = append(out, fmt.Sprintf(
			"    hop %d: %s, from key %s, at %s",
			y.hops,
			quoted(y.rotation.Path),
			y.from.key.Short(),
			stamp(y.rotation.Signed),
		))
		if y.prev.rotation == nil {
			out = append(
				out,
				"    key "+y.from.key.Short()+" "+y.prev.describe(),
			)
		}
	}
	return out
}

// describe returns the kind of the basis and its document.
func (b *basis) describe() string {
	switch {
	case b.rotation != nil:
		if b.hops == 1 {
			return "successor by one rotation"
		}
		return fmt.Sprintf("successor by %d rotations", b.hops)
	case b.owned:
		return "your own key, by " + quoted(b.grant.Path)
	case b.endorser != nil:
		return fmt.Sprintf(
			"endorsed by key %s of %s in %s: %s",
			b.endorser.key.Short(),
			b.endorser.label(),
			quoted(b.grant.Path),
			b.grant.Scope,
		)
	case b.granter != nil:
		return fmt.Sprintf(
			"granted by your key %s in %s: %s",
			b.granter.key.Short(),
			quoted(b.grant.Path),
			b.grant.Scope,
		)
	case b.accepted:
		return "accepted by you with the project's trust set"
	case b.doc != nil && b.doc.root:
		return "anchor named by the caller, " + b.document
	}
	if b.tier == TierEmbedded {
		return "the key inside rye, for the items inside rye only"
	}
	return fmt.Sprintf("anchor of the %s tier, %s", b.tier, b.document)
}

// describe returns the revocation on one line.
func (r *revocation) describe() string {
	out := fmt.Sprintf("%s: %s", quoted(r.Path), r.Reason)
	if !r.CutOff.IsZero() {
		out += " from " + stamp(r.CutOff) + " on"
	}
	out += ", signed by key " + r.Signer.Short()
	if r.seen {
		out += ", remembered from an earlier call"
	}
	return out + ": valid"
}
