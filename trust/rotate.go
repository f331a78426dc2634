package trust

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/sign"
)

// collectRotations takes in the rotations that both keys signed, of every
// tier. The remembered ones count only against another successor.
func (b *builder) collectRotations() {
	for _, d := range b.docs {
		if d.Kind != KindRotation || !d.named || d.bad != nil || d.check != nil {
			continue
		}
		if e := b.entry(d.Fingerprint, d.Public); !e.embeddedOnly {
			e.rotations = append(e.rotations, d)
		}
	}
	for _, e := range b.store.keys {
		slices.SortStableFunc(e.rotations, func(x, y *Document) int { return cmp.Compare(place(x), place(y)) })
		for _, d := range e.rotations {
			if !slices.Equal(d.Successor, e.rotations[0].Successor) {
				b.report(e.rotations[0], diag.Errorf(diag.SignerChanged, 1, 1, "%s names another successor of the same key; neither counts", quoted(d.Path)))
			}
		}
	}
}

// place orders what is present before what is remembered only.
func place(d *Document) int {
	if d.seen {
		return 1
	}
	return 0
}

// successor returns the one rotation of the key that is present, or why none
// counts.
func (e *entry) successor() (d *Document, why string) {
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

// follow lets successors count by the keys before them, along chains that
// begin with a key that counts by itself. A loop refuses the whole chain, and
// what lies beyond MaxHops is not reached.
func (b *builder) follow() {
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

// sorted returns the entries in one order, so that findings are the same in
// every run.
func (b *builder) sorted() []*entry {
	out := make([]*entry, 0, len(b.store.keys))
	for _, e := range b.store.keys {
		out = append(out, e)
	}
	slices.SortFunc(out, func(x, y *entry) int { return bytes.Compare(x.key[:], y.key[:]) })
	return out
}

// extend gives every key of the chain after e a basis that rests on x.
func (b *builder) extend(e *entry, x *basis) {
	for _, h := range b.chain(e) {
		d := h.to.window()
		if d == nil {
			h.to.note(fmt.Sprintf("%s makes it the successor of key %s, but no document about it is here", quoted(h.by.Path), h.from.key.Short()))
			return
		}
		next := documentBasis(d)
		next.tier, next.rotation, next.from, next.prev, next.hops = x.tier, h.by, h.from, x, x.hops+1
		h.to.bases = append(h.to.bases, next)
		x = next
	}
}

// window returns the document whose validity a successor has.
func (e *entry) window() *Document {
	if e.conflict || e.weak || e.embeddedOnly || len(e.documents) == 0 {
		return nil
	}
	return e.documents[0]
}

type hop struct {
	from, to *entry
	by       *Document
}

// chain returns the hops from a key on.
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
			b.broke(d, out, "the chain of rotations comes back to key "+to.key.Short())
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

// broke says of every key in a loop why the chain does not count.
func (b *builder) broke(d *Document, hops []hop, why string) {
	f := diag.Warnf(diag.SignerChanged, 1, 1, "ignored: %s", why)
	f.Path = d.Path
	if !slices.ContainsFunc(b.findings, func(o diag.Finding) bool { return o.Path == f.Path && o.Message == f.Message }) {
		b.findings = append(b.findings, f)
	}
	for _, h := range hops {
		h.to.note(quoted(h.by.Path) + " does not count: " + why)
	}
}

// carried reports whether the rotation of a key that counts carries its trust
// over now.
func (b *basis) carried(s *Store, now time.Time) (ok bool, reason string) {
	head := fmt.Sprintf("%s does not carry the trust of key %s over: ", quoted(b.rotation.Path), b.from.key.Short())
	if ok, why := b.prev.stands(s, now); !ok {
		return false, head + why
	}
	if !b.from.bounds.may("rotate") {
		return false, head + "that key may not rotate: " + b.from.bounds.String()
	}
	if why := b.prev.withheld("rotate"); why != "" {
		return false, head + why
	}
	when := s.moment(b.rotation.Digest, b.rotation.Signed)
	if r := b.from.rotationRevoked(when); r != nil {
		return false, head + fmt.Sprintf("that key is revoked (%s) by %s", r.Reason, quoted(r.Path))
	}
	if code, why := b.prev.window(when, now); code != "" {
		return false, head + why
	}
	return true, ""
}

// succeeds reports whether key is a successor of e, however many hops on. That
// both keys signed is enough here: it lets a successor revoke, and nothing
// else.
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
// keys of each signed.
func (s *Store) Succeeds(key, old sign.Fingerprint) bool { return s.succeeds(key, s.keys[old]) }
