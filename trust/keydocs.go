package trust

import (
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// compiledAnchor adds a key that is compiled into the program.
func (b *builder) compiledAnchor(a Anchor) {
	fp := sign.FingerprintOf(a.Public)
	e := b.entry(fp, slices.Clone(a.Public))
	var err error
	if !a.Sound {
		err = sign.CheckKey(a.Public)
	}
	if err != nil {
		e.weak = true
		b.findings = append(b.findings, diag.Errorf(
			diag.KeyWeak,
			0,
			0,
			"the compiled-in key of %s: %v",
			hidden.Visible(a.Owner),
			err,
		))
		return
	}
	e.embeddedOnly = e.embeddedOnly || a.EmbeddedOnly
	e.bases = append(
		e.bases,
		&basis{tier: TierEmbedded, document: compiledIn, owner: hidden.Visible(a.Owner)},
	)
}

// keyDocuments adds the valid key documents of one tier.
func (b *builder) keyDocuments(tier Tier) {
	seen := map[sign.Fingerprint]*keyDocument{}
	for _, d := range b.docs.keys {
		if d.tier != tier || d.Public == nil {
			continue
		}
		e := b.entry(d.Fingerprint, d.Public)
		switch first := seen[d.Fingerprint]; {
		case d.Weak != nil:
			e.weak = true
		case d.Invalid != nil || d.Signer != d.Fingerprint:
			e.note(quoted(d.Path) + " is not used: it is not signed by its own key")
		case e.embeddedOnly:
			b.ignorePublic(d.Path)
		case first != nil && first.Digest != d.Digest:
			b.conflict(e, first, d)
		case !d.Named:
			seen[d.Fingerprint] = d
			e.note(quoted(d.Path) + " is not used: its name is not the key's")
		default:
			seen[d.Fingerprint] = d
			e.documents = append(e.documents, d)
			// Two documents of one key are the owner's own: the narrower one decides.
			e.grantOnly = e.grantOnly || d.KeyKind == doc.KeyGrant
		}
	}
}

// ignorePublic warns about a document about a key whose private key is public.
// This applies in every tier.
func (b *builder) ignorePublic(path string) {
	b.report(path, diag.Warnf(diag.KeyUnknown, 1, 1, "ignored: the private key is public, so a document about this key proves nothing"))
}

// conflict refuses both documents, because it is not known which one is right.
// The scopes of both still apply. A project cannot cause a refusal this way, it
// only gets the findings.
//
// Two documents about one key do not make it trusted, and both narrow it: the intended one is
// not known.
func (b *builder) conflict(e *entry, first, second *keyDocument) {
	e.documents = append(e.documents, second)
	e.conflict = e.conflict || first.tier != TierProject
	e.note("two different documents are about it: " + quoted(first.Path) + " and " + quoted(second.Path))
	for _, pair := range [][2]*keyDocument{{first, second}, {second, first}} {
		f := diag.Errorf(diag.ValidationFailed, 1, 1, "%s is another document about the same key; neither is used", quoted(pair[1].Path))
		b.report(pair[0].Path, f.WithReason("two_documents"))
	}
}

// anchors gives a basis to the key documents in a system directory, and to those
// that the caller named.
func (b *builder) anchors() {
	for _, e := range b.store.keys {
		for _, d := range e.documents {
			if (d.tier == TierSystem || d.root) && !e.conflict {
				e.bases = append(e.bases, documentBasis(d))
				break
			}
		}
	}
}

func documentBasis(d *keyDocument) *basis {
	return &basis{
		tier:      d.tier,
		document:  quoted(d.Path),
		owner:     hidden.Visible(d.Owner),
		notBefore: d.NotBefore,
		notAfter:  d.NotAfter,
		doc:       d,
	}
}

// granted returns the basis that a grant or endorsement gives a key document. It
// is valid while both are.
func granted(d *keyDocument, grant *permission) *basis {
	x := documentBasis(d)
	x.grant = grant
	if grant.NotBefore.After(x.notBefore) {
		x.notBefore = grant.NotBefore
	}
	x.end(grant.NotAfter)
	return x
}

// end ends the basis, and every successor of its key, at that time; the zero time does not end it.
func (b *basis) end(until time.Time) {
	b.until = until
	if !until.IsZero() && until.Before(b.notAfter) {
		b.notAfter = until
	}
}

// userGrants returns the grants in the user's directory: those that a key signed
// for itself, or the others. A grant named by the caller is not the user's.
func (b *builder) userGrants(self bool) []*permission {
	var out []*permission
	for _, d := range b.docs.grants {
		if d.tier == TierUser &&
			!d.root &&
			d.Invalid == nil &&
			d.Named &&
			(d.Signer == d.Fingerprint) == self {
			out = append(out, d)
		}
	}
	return out
}

// narrowing collects every grant in the user's directory that can be read,
// by any signer: if the own key behind a grant is removed, the scope of the
// grant must still apply.
func (b *builder) narrowing() {
	for _, d := range b.docs.grants {
		if d.tier != TierUser || !d.Named {
			continue
		}
		e := b.store.keys[d.Fingerprint]
		if e != nil && !e.embeddedOnly {
			e.narrowing = append(e.narrowing, d)
		}
	}
}

// ownKeys finds the user's own keys: a document in the user's directory with a
// grant that the same key signed. Only the creation of a key writes such a grant.
func (b *builder) ownKeys() {
	for _, g := range b.userGrants(true) {
		e := b.store.keys[g.Fingerprint]
		d := e.userDocument(g.Document)
		if d == nil {
			b.orphan(g, e)
			continue
		}
		if err := g.SignedBy(d.Public); err != nil {
			b.report(g.Path, doc.SignatureFinding(err))
			e.note(quoted(g.Path) + " is not used: its signature is not valid")
			continue
		}
		e.grants = append(e.grants, g)
		x := granted(d, g)
		x.owned = true
		e.bases = append(e.bases, x)
		b.passed(d.Path, d.Signed)
		b.passed(g.Path, g.Signed)
	}
}

// userDocument returns the valid document in the user's directory with that
// digest, or nil.
func (e *entry) userDocument(digest item.Digest) *keyDocument {
	if e == nil || e.conflict || e.weak {
		return nil
	}
	for _, d := range e.documents {
		if d.tier == TierUser && d.Digest == digest {
			return d
		}
	}
	return nil
}

// grants gives a basis to the key documents that grants of own keys name by
// digest.
func (b *builder) grants() {
	for _, g := range b.userGrants(false) {
		granter := b.store.keys[g.Signer]
		e := b.store.keys[g.Fingerprint]
		if granter.own() == nil {
			b.notOwn(g, e)
			continue
		}
		if err := g.SignedBy(granter.public); err != nil {
			b.report(g.Path, doc.SignatureFinding(err))
			continue
		}
		b.passed(g.Path, g.Signed)
		if use := beyondGrantKey(g.Scope.May); granter.grantOnly && use != "" {
			b.report(g.Path, diag.Errorf(
				diag.Scope,
				1,
				1,
				"the grant gives %s, and a grant key gives %s at most",
				use,
				strings.Join(doc.GrantUses(), ", "),
			))
			if e != nil {
				e.note(quoted(g.Path) + " is not used: a grant key signed it, and it gives " + use)
			}
			continue
		}
		if g.Public != nil && e == nil {
			e = b.entry(g.Fingerprint, g.Public)
		}
		if e == nil || e.embeddedOnly {
			b.orphan(g, e)
			continue
		}
		e.grants = append(e.grants, g)
		if g.Public != nil {
			b.plainKey(e, g, granter)
		} else if d := e.userDocument(g.Document); d != nil {
			x := granted(d, g)
			x.granter = granter
			e.bases = append(e.bases, x)
		} else if !e.hasDigest(g.Document) {
			b.orphan(g, e)
		}
	}
}

// plainKey gives a basis to a key that has no document: the grant has the key itself.
func (b *builder) plainKey(e *entry, g *permission, granter *entry) {
	if e.conflict || e.weak {
		return
	}
	if e.public == nil {
		e.public = g.Public
	}
	// The key has no start of its own: what it signed before the grant is trusted too.
	e.bases = append(e.bases, &basis{
		tier:     TierUser,
		document: quoted(g.Path),
		owner:    hidden.Visible(g.Source),
		notAfter: g.NotAfter,
		until:    g.NotAfter,
		grant:    g,
		granter:  granter,
	})
}

// beyondGrantKey returns the first use that a grant key cannot give, or "".
func beyondGrantKey(may []string) string {
	for _, use := range may {
		if !slices.Contains(doc.GrantUses(), use) {
			return use
		}
	}
	return ""
}

// document returns the valid document about the key with that digest, of any
// tier, or nil.
func (e *entry) document(digest item.Digest) *keyDocument {
	for _, d := range e.documents {
		if d.Digest == digest {
			return d
		}
	}
	return nil
}

// hasDigest reports whether a tier outside the project has that document.
func (e *entry) hasDigest(digest item.Digest) bool {
	return slices.ContainsFunc(e.documents, func(d *keyDocument) bool {
		return d.tier != TierProject && d.Digest == digest
	})
}

// notOwn reports a grant that no own key signed.
func (b *builder) notOwn(g *permission, e *entry) {
	b.report(g.Path, diag.Errorf(
		diag.KeyUnknown,
		1,
		1,
		"the grant is signed by key %s, which is not a key of yours",
		g.Signer.Short(),
	))
	if e != nil {
		e.note(quoted(g.Path) + " is not used: a key that is not yours signed it")
	}
}

// orphan reports a grant without the document that it names.
func (b *builder) orphan(g *permission, e *entry) {
	if e != nil && (e.conflict || e.weak) {
		return // reported with the key document
	}
	f := diag.Warnf(diag.KeyUnknown, 1, 1, "the grant names a key document that is not in your trust folder")
	if e != nil && len(e.documents) > 0 {
		f = diag.Errorf(diag.HashMismatch, 1, 1, "the key document is not the one that was granted")
		f = f.WithReason("granted_document", "document", quoted(e.documents[0].Path))
		e.note(quoted(g.Path) + " is not used: the key document changed after it was granted")
	}
	b.report(g.Path, f)
}

// bound collects every scope about the key. All must permit a signature.
func (e *entry) bound(anchors []Anchor) {
	for _, a := range anchors {
		if slices.Equal(a.Public, e.public) {
			e.above = append(e.above, Bound{Scope: a.Scope, Source: compiledIn})
		}
	}
	var project Bounds
	for _, d := range e.documents {
		x := Bound{Scope: d.Scope, Source: quoted(d.Path)}
		if d.tier == TierProject {
			project = append(project, x)
		} else {
			e.above = append(e.above, x)
		}
	}
	for _, d := range e.narrowing {
		e.above = append(e.above, Bound{Scope: d.Scope, Source: quoted(d.Path)})
	}
	e.bounds = slices.Concat(e.above, project)
	e.agent = e.bounds.draftsOnly()
}
