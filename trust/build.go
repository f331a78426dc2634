package trust

import (
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

// anchor takes in a key that is compiled into the program.
func (b *builder) anchor(a Anchor) {
	fp := sign.FingerprintOf(a.Public)
	e := b.entry(fp, slices.Clone(a.Public))
	if err := sign.CheckKey(a.Public); err != nil {
		e.weak = true
		b.findings = append(b.findings, diag.Errorf(diag.KeyWeak, 0, 0, "the compiled-in key of %s: %v", hidden.Visible(a.Owner), err))
		return
	}
	e.embeddedOnly = e.embeddedOnly || a.EmbeddedOnly
	e.bases = append(e.bases, &basis{tier: TierEmbedded, document: compiledIn, owner: hidden.Visible(a.Owner)})
}

// keyDocuments takes in the key documents of one tier that hold by themselves.
func (b *builder) keyDocuments(tier Tier) {
	seen := map[sign.Fingerprint]*Document{}
	for _, d := range b.docs {
		if d.Tier != tier || d.Kind != KindKey || d.Public == nil {
			continue
		}
		e := b.entry(d.Fingerprint, d.Public)
		switch first := seen[d.Fingerprint]; {
		case d.check != nil:
			e.weak = true
		case d.bad != nil || d.Signer != d.Fingerprint:
			e.note(quoted(d.Path) + " does not count: it is not signed by its own key")
		case e.embeddedOnly:
			b.public(d)
		case first != nil && first.Digest != d.Digest:
			b.conflict(e, first, d)
		case !d.named:
			seen[d.Fingerprint] = d
			e.note(quoted(d.Path) + " does not count: its name is not the key's")
		default:
			seen[d.Fingerprint] = d
			e.documents = append(e.documents, d)
		}
	}
}

func (b *builder) public(d *Document) {
	b.report(d, diag.Warnf(diag.KeyUnknown, 1, 1, "ignored: everybody holds the private half of this key, so a document about it says nothing"))
}

// conflict refuses both documents: which of the two was meant cannot be known.
// Both still narrow. A project cannot bring about a refusal this way, it only
// gets the findings.
func (b *builder) conflict(e *entry, first, second *Document) {
	e.documents = append(e.documents, second)
	e.conflict = e.conflict || first.Tier != TierProject
	e.note("two different documents speak of it: " + quoted(first.Path) + " and " + quoted(second.Path))
	for _, pair := range [][2]*Document{{first, second}, {second, first}} {
		f := diag.Errorf(diag.ValidationFailed, 1, 1, "%s is another document about the same key; neither counts", quoted(pair[1].Path))
		f.Fix = "remove one of the two"
		b.report(pair[0], f)
	}
}

// anchors lets key documents count by being where they are: in a system folder,
// or named by the call itself.
func (b *builder) anchors() {
	for _, e := range b.store.keys {
		for _, d := range e.documents {
			if (d.Tier == TierSystem || d.root) && !e.conflict {
				e.bases = append(e.bases, documentBasis(d))
				break
			}
		}
	}
}

func documentBasis(d *Document) *basis {
	return &basis{tier: d.Tier, document: quoted(d.Path), owner: hidden.Visible(d.Owner), notBefore: d.NotBefore, notAfter: d.NotAfter, doc: d}
}

// granted is a basis that a grant gave; the window is that of both.
func granted(d, grant *Document) *basis {
	x := documentBasis(d)
	x.grant = grant
	if grant.NotBefore.After(x.notBefore) {
		x.notBefore = grant.NotBefore
	}
	if grant.NotAfter.Before(x.notAfter) {
		x.notAfter = grant.NotAfter
	}
	return x
}

// userGrants returns the grants that may count, and reports the others.
func (b *builder) userGrants(own bool) []*Document {
	var out []*Document
	for _, d := range b.docs {
		self := d.Signer == d.Fingerprint
		if d.Kind == KindGrant && d.Tier == TierUser && !d.root && d.bad == nil && d.named && self == own {
			out = append(out, d)
		}
	}
	return out
}

// narrowing lets every legible grant in the user's folder narrow, whoever
// signed it: a grant whose own key is gone must not widen what it narrowed.
func (b *builder) narrowing() {
	for _, d := range b.docs {
		if d.Kind != KindGrant || d.Tier != TierUser || !d.named {
			continue
		}
		if e := b.store.keys[d.Fingerprint]; e != nil && !e.embeddedOnly {
			e.narrowing = append(e.narrowing, d)
		}
	}
}

// ownKeys finds the user's own keys: a document in the user's folder with a
// grant that the same key signed. Only making a key writes such a grant.
func (b *builder) ownKeys() {
	for _, g := range b.userGrants(true) {
		e := b.store.keys[g.Fingerprint]
		d := e.userDocument(g.Granted)
		if d == nil {
			b.orphan(g, e)
			continue
		}
		if err := g.signedBy(d.Public); err != nil {
			b.report(g, signatureFinding(err))
			e.note(quoted(g.Path) + " does not count: its signature does not hold")
			continue
		}
		e.grants = append(e.grants, g)
		x := granted(d, g)
		x.own = true
		e.bases = append(e.bases, x)
		b.passed(d)
		b.passed(g)
	}
}

// userDocument returns the valid document in the user's folder with that
// digest.
func (e *entry) userDocument(digest item.Digest) *Document {
	if e == nil || e.conflict || e.weak {
		return nil
	}
	for _, d := range e.documents {
		if d.Tier == TierUser && d.Digest == digest {
			return d
		}
	}
	return nil
}

// grants applies what own keys granted to other keys: the document counts that
// the grant names by digest.
func (b *builder) grants() {
	for _, g := range b.userGrants(false) {
		granter := b.store.keys[g.Signer]
		e := b.store.keys[g.Fingerprint]
		if granter.own() == nil {
			b.notOwn(g, e)
			continue
		}
		if err := g.signedBy(granter.public); err != nil {
			b.report(g, signatureFinding(err))
			continue
		}
		b.passed(g)
		if e == nil || e.embeddedOnly {
			b.orphan(g, e)
			continue
		}
		e.grants = append(e.grants, g)
		if d := e.userDocument(g.Granted); d != nil {
			x := granted(d, g)
			x.granter = granter
			e.bases = append(e.bases, x)
		} else if !e.hasDigest(g.Granted) {
			b.orphan(g, e)
		}
	}
}

// digest returns the valid document about the key with that digest, of any
// tier.
func (e *entry) digest(digest item.Digest) *Document {
	for _, d := range e.documents {
		if d.Digest == digest {
			return d
		}
	}
	return nil
}

func (e *entry) hasDigest(digest item.Digest) bool {
	return slices.ContainsFunc(e.documents, func(d *Document) bool { return d.Tier != TierProject && d.Digest == digest })
}

func (b *builder) notOwn(g *Document, e *entry) {
	b.report(g, diag.Errorf(diag.KeyUnknown, 1, 1, "the grant is signed by key %s, which is not a key of yours", g.Signer.Short()))
	if e != nil {
		e.note(quoted(g.Path) + " does not count: a key that is not yours signed it")
	}
}

// orphan reports a grant without the document it names.
func (b *builder) orphan(g *Document, e *entry) {
	if e != nil && (e.conflict || e.weak) {
		return // that is reported where the document stands
	}
	f := diag.Warnf(diag.KeyUnknown, 1, 1, "the grant names a key document that is not in your trust folder")
	if e != nil && len(e.documents) > 0 {
		f = diag.Errorf(diag.HashMismatch, 1, 1, "the key document is not the one that was granted")
		f.Fix = "look at the document; rye trust add FILE grants it as it is now"
		e.note(quoted(g.Path) + " does not count: the key document changed after it was granted")
	}
	b.report(g, f)
}

// bound collects every scope that speaks of the key; all must allow.
func (e *entry) bound(anchors []Anchor) {
	for _, a := range anchors {
		if slices.Equal(a.Public, e.public) {
			e.above = append(e.above, Bound{Scope: a.Scope, Source: compiledIn})
		}
	}
	var project Bounds
	for _, d := range slices.Concat(e.documents, e.narrowing) {
		x := Bound{Scope: d.Scope, Source: quoted(d.Path)}
		if d.Tier == TierProject {
			project = append(project, x)
		} else {
			e.above = append(e.above, x)
		}
	}
	e.bounds = slices.Concat(e.above, project)
	e.agent = e.bounds.draftsOnly()
}
