package trust

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/trust/doc"
)

// selfRevocations adds the revocations that keys signed for themselves. Every
// tier may revoke, because a revocation only removes trust.
func (b *builder) selfRevocations() {
	for _, d := range b.docs.revocations {
		if d.Public == nil || d.Weak != nil {
			continue
		}
		e := b.entry(d.Fingerprint, d.Public)
		switch {
		case d.Invalid != nil || !d.Named:
			e.ignore(quoted(d.Path) + " revokes nothing: it is not signed by the key under its proper name")
		case e.embeddedOnly:
			b.ignorePublic(d.Path)
		default:
			e.revoke(d)
		}
	}
}

// revoke adds a revocation once. The present file replaces the remembered one.
func (e *entry) revoke(d *revocation) {
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

// ignore notes why a revocation or rotation is not valid.
func (e *entry) ignore(why string) {
	if !slices.Contains(e.ignored, why) {
		e.ignored = append(e.ignored, why)
	}
}

// foreignRevocations adds the revocations of keys by their successors and by
// anchors. A remembered one was checked when it was first seen: removing its
// signer does not undo it.
func (b *builder) foreignRevocations() {
	for _, d := range b.docs.revocations {
		if d.Public != nil || !d.Named || d.Invalid != nil {
			continue
		}
		e := b.entry(d.Fingerprint, nil)
		if e.embeddedOnly {
			b.ignorePublic(d.Path)
			continue
		}
		if why := b.mayNotRevoke(d, e); why != "" {
			if !d.served { // a registry could serve any number of them
				b.report(d.Path, diag.Warnf(diag.KeyUnknown, 1, 1, "ignored: %s", why))
			}
			e.ignore(quoted(d.Path) + " is ignored: " + why)
			continue
		}
		e.revoke(d)
		if !d.seen && !d.served && d.tier == TierUser {
			b.passedOwn(d.Signer, d.Path, d.Signed)
		}
	}
}

// mayNotRevoke returns why the signer of d may not revoke the key, or "".
func (b *builder) mayNotRevoke(d *revocation, e *entry) (why string) {
	by := b.store.keys[d.Signer]
	switch {
	case d.seen:
		return ""
	case by == nil || by.public == nil:
		return "no document names the key " + d.Signer.Short() + " that signed it"
	case !b.store.succeeds(d.Signer, e) && !by.anchor("revoke"):
		return fmt.Sprintf("key %s is neither the successor of key %s nor an anchor that may revoke", d.Signer.Short(), d.Fingerprint.Short())
	}
	if err := d.SignedBy(by.public); err != nil {
		return err.Error()
	}
	return ""
}

// freshness is how complete the known revocations are.
type freshness struct {
	asOf    time.Time // of the newest valid list
	path    string    // of that list
	maxAge  time.Duration
	missing string        // a listed revocation that is not present
	project []item.Digest // the valid revocations in the project
}

// revocationLists checks the lists that anchors signed. Every listed revocation
// must be present; the newest list dates the revocation data.
func (b *builder) revocationLists() {
	f := &b.store.fresh
	f.maxAge = b.p.MaxAge
	here := map[item.Digest]bool{}
	for _, d := range b.docs.revocations {
		here[d.Digest] = true
	}
	for _, d := range b.docs.releases {
		here[d.Digest] = true
	}
	for _, d := range b.docs.lists {
		if !d.Named || d.Invalid != nil {
			continue
		}
		by := b.store.keys[d.Signer]
		if !by.anchor("revoke") || by.public == nil {
			b.report(d.Path, diag.Warnf(
				diag.KeyUnknown,
				1,
				1,
				"ignored: key %s is not an anchor that may revoke",
				d.Signer.Short(),
			))
			continue
		}
		if err := d.SignedBy(by.public); err != nil {
			b.report(d.Path, doc.SignatureFinding(err))
			continue
		}
		if d.tier == TierUser {
			b.passedOwn(d.Signer, d.Path, d.Signed)
		}
		for _, digest := range d.Listed {
			if !here[digest] && f.missing == "" {
				f.missing = fmt.Sprintf("%s lists the revocation %s, which is missing", quoted(d.Path), digest)
				b.report(d.Path, diag.Errorf(diag.Stale, 1, 1, "it lists the revocation %s, which is missing", digest))
			}
		}
		if by.validAnchor(d.Signed, b.store.now()) &&
			d.Signed.After(f.asOf) {
			f.asOf, f.path = d.Signed, quoted(d.Path)
		}
	}
}

// validAnchor reports whether the key is an anchor whose signature of that time
// is valid now.
func (e *entry) validAnchor(signed, now time.Time) bool {
	if e.revokedAt(signed) != nil {
		return false
	}
	for _, x := range e.bases {
		ok, _ := x.valid(now)
		code, _ := x.window(signed, now)
		if ok && x.anchored() && code == "" {
			return true
		}
	}
	return false
}

// stale returns why the revocation data is incomplete or too old, or "".
func (f freshness) stale(now time.Time) string {
	switch {
	case f.missing != "":
		return f.missing
	case f.maxAge <= 0:
		return ""
	case f.asOf.IsZero():
		return fmt.Sprintf("no anchor has listed the revocations, and the maximum age of such a list is %s", f.maxAge)
	case now.Sub(f.asOf) > f.maxAge:
		return fmt.Sprintf("%s lists the revocations of %s, and the maximum age of such a list is %s", f.path, stamp(f.asOf), f.maxAge)
	}
	return ""
}

// ProjectRevocations returns the digests of the valid revocations in the project,
// in order.
// Revocations of a project apply, because they only remove trust. No other document in its trust
// directory applies by itself.
func (s *Store) ProjectRevocations() []item.Digest {
	return slices.Clone(s.fresh.project)
}

// projectRevocations fills what Store.ProjectRevocations returns.
func (b *builder) projectRevocations() {
	for _, d := range b.docs.revocations {
		e := b.store.keys[d.Fingerprint]
		if d.tier != TierProject || e == nil {
			continue
		}
		if slices.ContainsFunc(e.revocations, func(r *revocation) bool { return r.Digest == d.Digest }) {
			b.store.fresh.project = append(b.store.fresh.project, d.Digest)
		}
	}
	for _, d := range b.store.withdrawn.all() {
		if d.tier == TierProject {
			b.store.fresh.project = append(b.store.fresh.project, d.Digest)
		}
	}
	slices.SortFunc(b.store.fresh.project, func(x, y item.Digest) int {
		return bytes.Compare(x[:], y[:])
	})
}
