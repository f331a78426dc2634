package trust

import "github.com/ryeos/rye/diag"

// endorsements lets key documents count that an anchor endorsed, by digest, once
// for every reason to take the endorser for an anchor: what one of them allows
// must not be mixed with how long another lasts.
// Whether the anchor still counts is asked whenever something is judged.
func (b *builder) endorsements() {
	for _, d := range b.docs {
		if d.Kind != KindEndorsement || !d.named || d.bad != nil {
			continue
		}
		e, by := b.store.keys[d.Fingerprint], b.store.keys[d.Signer]
		if !b.endorser(d, e, by) {
			continue
		}
		for _, y := range by.bases {
			if y.anchored() {
				x := granted(e.digest(d.Granted), d)
				x.tier, x.endorser, x.prev = TierProject, by, y
				e.bases = append(e.bases, x)
			}
		}
	}
}

// endorser reports whether the endorsement has a document and a sound signer,
// and warns otherwise.
func (b *builder) endorser(d *Document, e, by *entry) bool {
	why, code := "", diag.KeyUnknown
	switch {
	case e == nil || e.digest(d.Granted) == nil:
		why = "the endorsement names a key document that is not here as it was endorsed"
	case e.conflict || e.weak || e.embeddedOnly:
		return false // that is reported where the document stands
	case by == nil || by.weak || by.embeddedOnly || by.public == nil || !by.hasAnchor():
		why = "ignored: key " + d.Signer.Short() + ", which endorses here, is no anchor of yours"
	default:
		if err := d.signedBy(by.public); err != nil {
			why, code = err.Error(), signatureFinding(err).Code
		} else if !by.bounds.may("endorse") {
			why, code = "ignored: key "+d.Signer.Short()+" may not endorse", diag.Scope
		}
	}
	if why == "" {
		return true
	}
	b.report(d, diag.Warnf(code, 1, 1, "%s", why))
	if e != nil {
		e.note(quoted(d.Path) + " does not count: " + why)
	}
	return false
}

func (e *entry) hasAnchor() bool {
	for _, x := range e.bases {
		if x.anchored() {
			return true
		}
	}
	return false
}
