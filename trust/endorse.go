package trust

import (
	"fmt"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/trust/doc"
)

// endorsements gives a basis to the key documents that an anchor endorsed by
// digest: one for each basis that makes the endorser an anchor, because the
// scope of one basis must not be combined with the validity of another. Whether
// the anchor is still valid is checked at each verdict.
func (b *builder) endorsements() {
	for _, d := range b.docs.endorsements {
		if !d.Named || d.Invalid != nil {
			continue
		}
		e := b.store.keys[d.Fingerprint]
		by := b.store.keys[d.Signer]
		if !b.endorsed(d, e, by) {
			continue
		}
		for _, y := range by.bases {
			if y.anchored() {
				x := granted(e.document(d.Document), d)
				x.tier = TierProject
				x.endorser = by
				x.prev = y
				e.bases = append(e.bases, x)
			}
		}
	}
}

// docFinding is a finding about a document.
type docFinding struct {
	path    string
	finding diag.Finding
}

// endorsed reports whether the endorsement of e by the key by has its document
// and a signer that may endorse. It adds a warning if not.
func (b *builder) endorsed(d *permission, e, by *entry) bool {
	why := ""
	code := diag.KeyUnknown
	anchor := true
	switch {
	case e == nil || e.document(d.Document) == nil:
		why = "the endorsement names a key document that is not here as it was endorsed"
	case e.conflict || e.weak || e.embeddedOnly:
		return false // reported with the key document
	case by == nil || by.weak || by.embeddedOnly || by.public == nil || !slices.ContainsFunc(by.bases, (*basis).anchored):
		why = "ignored: key " + d.Signer.Short() + ", which signed the endorsement, is not an anchor of yours"
		anchor = false
	default:
		if err := d.SignedBy(by.public); err != nil {
			why = err.Error()
			code = doc.SignatureFinding(err).Code
		} else if by.grantOnly || !by.bounds.may("endorse") {
			why = "ignored: key " + d.Signer.Short() + " may not endorse"
			code = diag.Scope
		}
	}
	if why == "" {
		return true
	}
	if f := diag.Warnf(code, 1, 1, "%s", why); anchor {
		b.report(d.Path, f)
	} else {
		b.unanchored = append(b.unanchored, docFinding{d.Path, f})
	}
	if e != nil {
		e.note(quoted(d.Path) + " is not used: " + why)
	}
	return false
}

// endorsementValid reports whether the endorser is still an anchor that may
// endorse, and whether its signature is still valid.
// An endorsement ends with its endorser, because it is in a project. A grant stays valid until
// its own end: new grants could be written into the user's directory too.
func (b *basis) endorsementValid(now time.Time) (ok bool, reason string) {
	d := b.grant
	e := b.endorser
	key := fmt.Sprintf("the key %s that signed %s", e.key.Short(), quoted(d.Path))
	if !e.bounds.may("endorse") {
		return false, key + " may not endorse: " + e.bounds.String()
	}
	if r := e.revokedAt(d.Signed); r != nil {
		return false, fmt.Sprintf("%s is revoked (%s)", key, r.Reason)
	}
	if ok, why := b.prev.valid(now); !ok {
		return false, key + " is not trusted: " + why
	}
	code, why := b.prev.window(d.Signed, now)
	if code != "" {
		return false, key + " is not trusted: " + why
	}
	return true, ""
}
