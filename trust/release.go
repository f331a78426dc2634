package trust

import (
	"crypto/ed25519"
	"fmt"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

// releaseRevocations adds the revocations of releases. One voids the signatures
// of its signer and of the keys that its signer succeeds; a revocation by an anchor that
// may revoke voids all signatures within the anchor's scope. It stays valid after
// the end or the revocation of its signer.
func (b *builder) releaseRevocations() {
	for _, d := range b.docs.releases {
		if !d.Named || d.Invalid != nil {
			continue
		}
		if why := b.unverified(d); why != "" {
			b.report(d.Path, diag.Warnf(diag.KeyUnknown, 1, 1, "ignored: %s", why))
			continue
		}
		b.markUsed(d.Path)
		b.store.withdrawn.add(d)
	}
}

// unverified returns why d's signature cannot be checked (signer unknown, weak,
// or not the author), or "" if it verifies.
func (b *builder) unverified(d *releaseRevocation) string {
	by := b.store.keys[d.Signer]
	pub := b.store.revokerOf(d.Signer)
	if pub != nil && d.SignedBy(pub) == nil {
		return ""
	}
	if by == nil || by.public == nil || by.weak || by.embeddedOnly {
		return "no valid document names the key " + d.Signer.Short() + " that signed it"
	}
	if err := d.SignedBy(by.public); err != nil {
		return err.Error()
	}
	return ""
}

// revokerOf returns the key if a publisher names it in its role revoke, else nil.
func (s *Store) revokerOf(fp sign.Fingerprint) ed25519.PublicKey {
	for _, x := range s.publishers {
		i := slices.Index(x.Revoke.Fingerprints(), fp)
		if i >= 0 {
			return x.Revoke.Keys[i]
		}
	}
	return nil
}

// withdrawn are the revocations of releases, by the digest of the signed content
// and by the digest of the manifest's file.
type withdrawn struct {
	content  map[item.Digest][]*releaseRevocation
	manifest map[item.Digest][]*releaseRevocation
}

func (w *withdrawn) add(d *releaseRevocation) {
	if w.content == nil {
		w.content = map[item.Digest][]*releaseRevocation{}
		w.manifest = map[item.Digest][]*releaseRevocation{}
	}
	for _, o := range w.content[d.Release.Content] {
		if o.Digest == d.Digest {
			return // it is remembered, and present as well
		}
	}
	w.content[d.Release.Content] = append(w.content[d.Release.Content], d)
	w.manifest[d.Release.Manifest] = append(w.manifest[d.Release.Manifest], d)
}

// all returns every revocation of a release, in no order.
func (w *withdrawn) all() []*releaseRevocation {
	var out []*releaseRevocation
	for _, docs := range w.content {
		out = append(out, docs...)
	}
	return out
}

// releaseVoid returns why a signature of a bundle's manifest, or of a review, is void, or
// "".
func (s *Store) releaseVoid(sub sign.Subject, line sign.Line) string {
	if sub.Use != sign.UseManifest && sub.Use != sign.UseReview {
		return ""
	}
	for _, d := range s.withdrawn.content[line.Body] {
		if s.isOrSucceeds(d.Signer, line.Key) ||
			d.Release.Bundle == sub.ID && s.mayRevokeReleases(d.Signer, sub.ID) {
			return s.releaseRevokedReason(d)
		}
	}
	if sub.Use == sign.UseReview {
		return "" // the reviewers of a source are not its publisher
	}
	return s.publisherRevocation(sub.ID, s.withdrawn.content[line.Body])
}

// publisherRevocation returns why a release is void if enough keys of a
// publisher's role revoke revoked it, or "".
func (s *Store) publisherRevocation(id string, docs []*releaseRevocation) string {
	for _, x := range s.publishers {
		if !x.Names(id) || len(x.Revoke.Keys) == 0 {
			continue
		}
		var by []sign.Fingerprint
		var last *releaseRevocation
		for _, d := range docs {
			if d.Release.Bundle == id &&
				slices.Contains(x.Revoke.Fingerprints(), d.Signer) &&
				!slices.Contains(by, d.Signer) {
				by = append(by, d.Signer)
				last = d
			}
		}
		if len(by) >= x.Revoke.Threshold {
			return s.releaseRevokedReason(last)
		}
	}
	return ""
}

// isOrSucceeds reports whether signer is that key or a successor of it.
func (s *Store) isOrSucceeds(signer, key sign.Fingerprint) bool {
	return signer == key || s.succeeds(signer, s.keys[key])
}

// mayRevokeReleases reports whether a key is an anchor that may revoke releases
// of a bundle that other keys signed.
func (s *Store) mayRevokeReleases(key sign.Fingerprint, id string) bool {
	e := s.keys[key]
	if !e.anchor("revoke") {
		return false
	}
	_, part := e.above.covers("bundle", id)
	return part == ""
}

func (s *Store) releaseRevokedReason(d *releaseRevocation) string {
	who := "key " + d.Signer.Short()
	e := s.keys[d.Signer]
	if e != nil && e.label() != "" {
		who += " (" + e.label() + ")"
	}
	return fmt.Sprintf(
		"this release was revoked by %s at %s: %s; %s",
		who,
		stamp(d.Signed),
		hidden.Visible(d.Release.Why),
		quoted(d.Path),
	)
}

// RevokesReleases reports whether any release is revoked.
func (s *Store) RevokesReleases() bool {
	return len(s.withdrawn.content) > 0
}

// ReleaseRevoked returns why a locked release is revoked, or "". A lock contains
// only the digest of the manifest and the signers, so only revocations by the
// signers and their successors are found.
func (s *Store) ReleaseRevoked(manifest item.Digest, signers []sign.Fingerprint) string {
	for _, d := range s.withdrawn.manifest[manifest] {
		if slices.ContainsFunc(signers, func(fp sign.Fingerprint) bool { return s.isOrSucceeds(d.Signer, fp) }) {
			return s.releaseRevokedReason(d)
		}
	}
	return ""
}

// ManifestRevoked is ReleaseRevoked for a release whose manifest is available. It
// also finds revocations by anchors. It does not verify the signature.
func (s *Store) ManifestRevoked(sub sign.Subject, manifest []byte) string {
	if !s.RevokesReleases() {
		return ""
	}
	sp, err := sign.SplitFile(manifest, sign.Hash())
	if err != nil || !sp.Signed {
		return ""
	}
	line := sp.Line
	line.Body = sp.Digest()
	return s.releaseVoid(sub, line)
}

// MayRevokeRelease reports whether a revocation by that key would be valid for a
// release of the bundle that these keys signed.
func (s *Store) MayRevokeRelease(key sign.Fingerprint, id string, signers []sign.Fingerprint) bool {
	for _, x := range s.publishers {
		if x.Names(id) && slices.Contains(x.Revoke.Fingerprints(), key) {
			return true
		}
	}
	return s.mayRevokeReleases(key, id) ||
		slices.ContainsFunc(signers, func(fp sign.Fingerprint) bool {
			return s.isOrSucceeds(key, fp)
		})
}
