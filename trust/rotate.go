package trust

import (
	"fmt"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/sign"
)

// collectRotations adds the rotations that both keys signed, of every tier. A
// remembered rotation only refuses another successor.
func (b *builder) collectRotations() {
	for _, d := range b.docs.rotations {
		if !d.Named || d.Invalid != nil || d.Weak != nil {
			continue
		}
		e := b.entry(d.Fingerprint, d.Public)
		if !e.embeddedOnly {
			e.rotations = append(e.rotations, d)
		}
	}
	for _, e := range b.store.keys {
		// Present rotations precede those that are only remembered.
		slices.SortStableFunc(e.rotations, func(x, y *rotation) int {
			switch {
			case x.seen == y.seen:
				return 0
			case y.seen:
				return -1
			}
			return 1
		})
		for _, d := range e.rotations {
			if !slices.Equal(d.Successor, e.rotations[0].Successor) {
				b.report(e.rotations[0].Path, diag.Errorf(
					diag.SignerChanged,
					1,
					1,
					"%s names another successor of the same key; neither is used",
					quoted(d.Path),
				))
			}
		}
	}
}

// successor returns the only present rotation of the key, or why none is used.
func (e *entry) successor() (d *rotation, why string) {
	if len(e.rotations) == 0 || e.rotations[0].seen {
		return nil, ""
	}
	for _, r := range e.rotations {
		if !slices.Equal(r.Successor, e.rotations[0].Successor) {
			return nil, "key " + e.key.Short() + " names two successors: " + quoted(e.rotations[0].Path) + " and " + quoted(r.Path)
		}
	}
	return e.rotations[0], ""
}

// followRotations gives bases to successors, along chains that start with a key
// that has a basis without a rotation. A loop refuses the whole chain. Keys after
// MaxHops are not reached. A second call only follows the bases that were added
// since the first.
func (b *builder) followRotations() {
	for _, e := range b.sorted() {
		var starts []*basis
		for _, x := range e.bases {
			if x.rotation == nil && !x.followed {
				x.followed = true
				starts = append(starts, x)
			}
		}
		if len(starts) == 0 || e.weak || e.embeddedOnly {
			continue
		}
		for _, x := range starts {
			b.extend(e, x)
		}
	}
}

// extend gives every key of the chain after e a basis that depends on x.
func (b *builder) extend(e *entry, x *basis) {
	for _, h := range b.chain(e) {
		d := h.to.window()
		if d == nil {
			h.to.note(fmt.Sprintf(
				"%s makes it the successor of key %s, but no document about it is here",
				quoted(h.by.Path),
				h.from.key.Short(),
			))
			return
		}
		next := documentBasis(d)
		next.tier = x.tier
		next.rotation = h.by
		next.from = h.from
		next.prev = x
		next.hops = x.hops + 1
		next.end(x.until)
		h.to.bases = append(h.to.bases, next)
		x = next
	}
}

// window returns the document with the validity of a successor, or nil.
func (e *entry) window() *keyDocument {
	if e.conflict || e.weak || e.embeddedOnly || len(e.documents) == 0 {
		return nil
	}
	return e.documents[0]
}

// hop is one rotation of a chain.
type hop struct {
	from, to *entry
	by       *rotation
}

// chain returns the hops that follow a key.
func (b *builder) chain(e *entry) []hop {
	var out []hop
	visited := map[sign.Fingerprint]bool{e.key: true}
	for {
		d, why := e.successor()
		if why != "" {
			e.ignore(why)
		}
		if d == nil {
			return out
		}
		to := b.entry(sign.FingerprintOf(d.Successor), d.Successor)
		switch {
		case visited[to.key]:
			b.refuseLoop(d.Path, out, "the chain of rotations comes back to key "+to.key.Short())
			return nil
		case len(out) == MaxHops:
			to.note(fmt.Sprintf("%s is hop %d of a chain of rotations, at most %d are followed", quoted(d.Path), MaxHops+1, MaxHops))
			return out
		}
		visited[to.key] = true
		out = append(out, hop{e, to, d})
		e = to
	}
}

// refuseLoop notes for every key in a loop why the chain is not used. The two
// passes of followRotations can find the same loop, which is reported once.
func (b *builder) refuseLoop(path string, hops []hop, why string) {
	f := diag.Warnf(diag.SignerChanged, 1, 1, "ignored: %s", why)
	if !slices.ContainsFunc(b.findings, func(o diag.Finding) bool {
		return o.Path == path &&
			o.Message == f.Message
	}) {
		b.report(path, f)
	}
	for _, h := range hops {
		h.to.note(quoted(h.by.Path) + " is not used: " + why)
	}
}

// rotationValid reports whether what permits the key before is valid now and
// permits it to pass its trust to the successor. The key before may have expired
// since it signed the rotation.
func (b *basis) rotationValid(now time.Time) (ok bool, reason string) {
	head := fmt.Sprintf("%s does not pass on the trust of key %s: ", quoted(b.rotation.Path), b.from.key.Short())
	if ok, why := b.prev.valid(now); !ok {
		return false, head + why
	}
	if !b.from.bounds.may("rotate") {
		return false, head + "that key may not rotate: " + b.from.bounds.String()
	}
	if why := b.prev.missingUse("rotate"); why != "" {
		return false, head + why
	}
	if r := b.from.rotationRevoked(b.rotation.Signed); r != nil {
		return false, head + fmt.Sprintf("that key is revoked (%s) by %s", r.Reason, quoted(r.Path))
	}
	why := b.prev.signedWithin(b.rotation.Signed, now)
	if why != "" {
		return false, head + why
	}
	return true, ""
}

// succeeds reports whether key is a successor of e after at most MaxHops
// rotations. It only requires that both keys signed each rotation: a successor
// may revoke, and nothing else follows from it.
func (s *Store) succeeds(key sign.Fingerprint, e *entry) bool {
	for range MaxHops {
		if e == nil || len(e.rotations) == 0 {
			return false
		}
		for _, d := range e.rotations {
			if sign.FingerprintOf(d.Successor) == key {
				return true
			}
		}
		e = s.keys[sign.FingerprintOf(e.rotations[0].Successor)]
	}
	return false
}

// Succeeds reports whether key is a successor of old by rotations that both
// keys signed.
func (s *Store) Succeeds(key, old sign.Fingerprint) bool {
	return s.succeeds(key, s.keys[old])
}
