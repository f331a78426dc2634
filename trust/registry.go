package trust

import (
	"maps"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/trust/doc"
)

// pins keeps the registry documents that pin the log key of a host: documents of the user
// that one of the user's own keys signed, and documents of the machine that a key of the
// machine signed.
func (b *builder) pins() {
	b.store.registries = map[string][]*doc.Registry{}
	for _, d := range b.docs.registries {
		if d.Invalid != nil || !d.Named {
			continue // the parser reported it
		}
		signer := b.store.keys[d.Signer]
		why := ""
		switch {
		case d.inProject:
			why = "a project pins a log key in rye.yaml, below registries"
		case d.Replaces != "":
			why = "it is a rotation, which rye registry reads from the registry"
		case signer == nil || !signer.pins(d.tier):
			why = "key " + d.Signer.Short() + " signed it, which is not a key of your own"
		case signer.public == nil || d.SignedBy(signer.public) != nil:
			b.report(d.Path, doc.SignatureFinding(d.SignedBy(signer.public)))
			continue
		}
		if why != "" {
			b.report(d.Path, diag.Warnf(diag.KeyUnknown, 1, 1, "the log key in it is not used: %s", why).
				WithReason("registry_pin"))
			continue
		}
		b.passed(d.Path, d.Signed)
		b.store.registries[d.Host] = append(
			b.store.registries[d.Host],
			d.Registry,
		)
	}
}

// pins reports whether the key may sign a registry document of a tier.
func (e *entry) pins(tier Tier) bool {
	return slices.ContainsFunc(e.bases, func(x *basis) bool {
		return tier == TierUser && x.owned || tier == TierSystem && x.tier == TierSystem
	})
}

// Registry returns the pinned log key of a registry with its addresses and witnesses, nil
// if there is none. Pins of the machine and of the user must name the same key. The user's
// pin determines the addresses, the stricter pin determines the witnesses, so that a user
// cannot do without witnesses that the machine demands.
func (s *Store) Registry(host string) (*doc.Registry, error) {
	if s.blind != "" {
		return nil, diag.New(diag.KeyUnknown, "reading the pin of registry %s: %s could not be read, which may contain a revocation", host, s.blind)
	}
	list := s.registries[host]
	for _, d := range list {
		if d.LogKey != list[0].LogKey {
			return nil, diag.New(diag.KeyUnknown, "reading the pin of registry %s: %s and %s pin different log keys", host, list[0].Path, d.Path).
				WithReason("registry_pins").
				WithDetail("expected", list[0].LogKey).
				WithDetail("found", d.LogKey)
		}
	}
	if len(list) == 0 {
		return nil, nil
	}
	now := s.clockTime()
	last := list[len(list)-1] // the user's, which may have other addresses
	e := s.keys[last.Signer]
	if e != nil && e.revokedAt(now) != nil {
		return nil, diag.New(diag.Revoked, "reading the pin of registry %s: key %s signed %s and is revoked", host, last.Signer.Short(), last.Path)
	}
	out := *last
	for _, d := range list {
		switch {
		case stricter(&out, d):
		case stricter(d, &out):
			out.Witnesses = d.Witnesses
			out.Quorum = d.Quorum
		default:
			return nil, diag.New(diag.KeyUnknown, "reading the pin of registry %s: %s and %s demand different witnesses, and neither is the stricter one", host, last.Path, d.Path).
				WithReason("registry_witnesses").WithDetail("host", host)
		}
	}
	return &out, nil
}

// stricter reports whether every checkpoint that a's witnesses and quorum permit is one
// that b's permit.
func stricter(a, b *doc.Registry) bool {
	other := slices.ContainsFunc(a.Witnesses, func(w string) bool {
		return !slices.Contains(b.Witnesses, w)
	})
	return b.Quorum == 0 || a.Quorum >= b.Quorum && !other
}

// Registries returns the hosts with a pin, sorted.
func (s *Store) Registries() []string {
	return slices.Sorted(maps.Keys(s.registries))
}
