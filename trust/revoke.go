package trust

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

// revocations takes in what keys say against themselves, of every tier: it can
// only take away.
func (b *builder) revocations() {
	for _, d := range b.docs {
		if d.Kind != KindRevocation || d.Public == nil || d.check != nil {
			continue
		}
		e := b.entry(d.Fingerprint, d.Public)
		switch {
		case d.bad != nil || !d.named:
			e.ignore(quoted(d.Path) + " revokes nothing: it is not signed by the key under its proper name")
		case e.embeddedOnly:
			b.public(d)
		default:
			e.revoke(d)
		}
	}
}

// revoke adds a revocation once: as it is present, else as it is remembered.
func (e *entry) revoke(d *Document) {
	for i, o := range e.revocations {
		if o.Digest == d.Digest {
			if o.seen {
				e.revocations[i] = d
			}
			return
		}
	}
	e.revocations = append(e.revocations, d)
}

// ignore notes a revocation or rotation that does not count.
func (e *entry) ignore(why string) {
	if !slices.Contains(e.ignored, why) {
		e.ignored = append(e.ignored, why)
	}
}

// foreignRevocations takes in what successors and anchors say against a key.
// One that is remembered was checked when it was seen, and whoever may revoke
// then does not matter now: it is not undone by taking its signer away.
func (b *builder) foreignRevocations() {
	for _, d := range b.docs {
		if d.Kind != KindRevocation || d.Public != nil || !d.named || d.bad != nil {
			continue
		}
		e := b.entry(d.Fingerprint, nil)
		if e.embeddedOnly {
			b.public(d)
			continue
		}
		if why := b.mayRevoke(d, e); why != "" {
			b.report(d, diag.Warnf(diag.KeyUnknown, 1, 1, "ignored: %s", why))
			e.ignore(quoted(d.Path) + " is ignored: " + why)
			continue
		}
		e.revoke(d)
	}
}

func (b *builder) mayRevoke(d *Document, e *entry) (why string) {
	by := b.store.keys[d.Signer]
	switch {
	case d.seen:
		return ""
	case by == nil || by.public == nil:
		return "nothing names the key " + d.Signer.Short() + " that signed it"
	case !b.store.succeeds(d.Signer, e) && !by.anchor("revoke"):
		return fmt.Sprintf("key %s is neither the successor of key %s nor an anchor that may revoke", d.Signer.Short(), d.Fingerprint.Short())
	}
	if err := d.signedBy(by.public); err != nil {
		return err.Error()
	}
	return ""
}

// freshness is what is known about how complete the revocations are.
type freshness struct {
	asOf    time.Time // of the newest list that counts
	path    string
	maxAge  time.Duration
	missing string        // what a list names and nothing holds
	project []item.Digest // the revocations in the project that count
}

// revocationLists reads the lists that anchors signed. What one names must be
// here; the newest says as of when all of them are known.
func (b *builder) revocationLists() {
	f := &b.store.fresh
	f.maxAge = b.p.MaxAge
	here := map[item.Digest]bool{}
	for _, d := range b.docs {
		if d.Kind == KindRevocation || d.Kind == KindReleaseRevocation {
			here[d.Digest] = true
		}
	}
	for _, d := range b.docs {
		if d.Kind != KindRevocations || !d.named || d.bad != nil {
			continue
		}
		by := b.store.keys[d.Signer]
		if !by.anchor("revoke") || by.public == nil {
			b.report(d, diag.Warnf(diag.KeyUnknown, 1, 1, "ignored: key %s is no anchor that may revoke", d.Signer.Short()))
			continue
		}
		if err := d.signedBy(by.public); err != nil {
			b.report(d, signatureFinding(err))
			continue
		}
		for _, digest := range d.Listed {
			if !here[digest] && f.missing == "" {
				f.missing = fmt.Sprintf("%s lists the revocation %s, which is not here", quoted(d.Path), digest)
				b.report(d, diag.Errorf(diag.Stale, 1, 1, "it lists the revocation %s, which is not here: somebody removed it", digest))
			}
		}
		if by.speaksAt(b, d) && d.Signed.After(f.asOf) {
			f.asOf, f.path = d.Signed, quoted(d.Path)
		}
	}
}

// speaksAt reports whether the signer of a list counts now for that signature.
func (e *entry) speaksAt(b *builder, d *Document) bool {
	now := b.store.now()
	if e.revokedAt(claimed(d.Signed)) != nil {
		return false
	}
	for _, x := range e.bases {
		ok, _ := x.stands(b.store, now)
		if code, _ := x.window(claimed(d.Signed), now); ok && x.anchored() && code == "" {
			return true
		}
	}
	return false
}

// stale says why the revocation data is too old to rely on, "" when it is not.
func (f freshness) stale(now time.Time) string {
	switch {
	case f.missing != "":
		return f.missing
	case f.maxAge <= 0:
		return ""
	case f.asOf.IsZero():
		return fmt.Sprintf("no anchor says as of when the revocations are complete, and %s is the greatest age allowed", f.maxAge)
	case now.Sub(f.asOf) > f.maxAge:
		return fmt.Sprintf("%s says which revocations there were at %s, and %s is the greatest age allowed", f.path, stamp(f.asOf), f.maxAge)
	}
	return ""
}

// ProjectRevocations returns the digests of the revocations that the project
// holds and that count, in order.
func (s *Store) ProjectRevocations() []item.Digest { return slices.Clone(s.fresh.project) }

func (b *builder) projectRevocations() {
	for _, d := range b.docs {
		e := b.store.keys[d.Fingerprint]
		if d.Kind != KindRevocation || d.Tier != TierProject || e == nil {
			continue
		}
		if slices.ContainsFunc(e.revocations, func(r *Document) bool { return r.Digest == d.Digest }) {
			b.store.fresh.project = append(b.store.fresh.project, d.Digest)
		}
	}
	for _, d := range b.store.withdrawn.all() {
		if d.Tier == TierProject {
			b.store.fresh.project = append(b.store.fresh.project, d.Digest)
		}
	}
	slices.SortFunc(b.store.fresh.project, func(x, y item.Digest) int { return bytes.Compare(x[:], y[:]) })
}
