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

// maxReason is how long the reason of a release's revocation may be, in bytes.
const maxReason = 512

// Release names one release of a bundle: the manifest that was signed.
type Release struct {
	Bundle   string      `json:"bundle,omitempty"`  // as its manifest names it
	Version  string      `json:"version,omitempty"` // without the leading v
	Manifest item.Digest `json:"manifest,omitzero"` // of the manifest's file, as a lock names it
	Content  item.Digest `json:"content,omitzero"`  // of the manifest without its signature line: what all signers signed
	Why      string      `json:"why,omitempty"`     // as written: escape before printing
}

func (d *Document) readReleaseRevocation(f *fields) {
	d.Release = &Release{
		Bundle: f.label("bundle", true, item.MaxID), Version: f.label("version", true, item.MaxID),
		Manifest: f.digest("manifest"), Content: f.digest("content"), Why: f.label("reason", true, maxReason),
	}
	if err := item.CheckVersion(d.Release.Version); d.Release.Version != "" && err != nil {
		f.bad("version", "version is not MAJOR.MINOR.PATCH")
	}
}

// releaseRevocations takes in what keys say against releases. One counts for a
// signature of the key that signed it, and of keys that it succeeds; that of an
// anchor that may revoke for all within its scope. Neither end nor revocation
// of that key takes it back.
func (b *builder) releaseRevocations() {
	for _, d := range b.docs {
		if d.Kind != KindReleaseRevocation || !d.named || d.bad != nil {
			continue
		}
		if why := b.notSaid(d); why != "" {
			b.report(d, diag.Warnf(diag.KeyUnknown, 1, 1, "ignored: %s", why))
			continue
		}
		for i := range b.store.proposals {
			if p := &b.store.proposals[i]; p.Path == d.Path {
				p.Counts = true
			}
		}
		b.store.withdrawn.add(d)
	}
}

// notSaid says why nobody who is known said this, "" when somebody did.
func (b *builder) notSaid(d *Document) string {
	by := b.store.keys[d.Signer]
	if pub := b.revokerOf(d.Signer); pub != nil && d.signedBy(pub) == nil {
		return ""
	}
	if by == nil || by.public == nil || by.weak || by.embeddedOnly {
		return "no document that counts names the key " + d.Signer.Short() + " that signed it"
	}
	if err := d.signedBy(by.public); err != nil {
		return err.Error()
	}
	return ""
}

// revokerOf returns the key when a publisher lets it revoke.
func (b *builder) revokerOf(fp sign.Fingerprint) ed25519.PublicKey {
	for _, x := range b.store.publishers {
		if i := slices.Index(x.Revoke.Fingerprints(), fp); i >= 0 {
			return x.Revoke.Keys[i]
		}
	}
	return nil
}

// withdrawn are the revocations of releases, by what was signed.
type withdrawn struct {
	content  map[item.Digest][]*Document
	manifest map[item.Digest][]*Document
}

func (w *withdrawn) add(d *Document) {
	if w.content == nil {
		w.content, w.manifest = map[item.Digest][]*Document{}, map[item.Digest][]*Document{}
	}
	for _, o := range w.content[d.Release.Content] {
		if o.Digest == d.Digest {
			return // remembered, and present as well
		}
	}
	w.content[d.Release.Content] = append(w.content[d.Release.Content], d)
	w.manifest[d.Release.Manifest] = append(w.manifest[d.Release.Manifest], d)
}

// all returns every one of them.
func (w *withdrawn) all() []*Document {
	var out []*Document
	for _, docs := range w.content {
		out = append(out, docs...)
	}
	return out
}

// takenBack says why a signature of a bundle's manifest counts no more, "" when
// it does.
func (s *Store) takenBack(sub sign.Subject, line sign.Line) string {
	if sub.Use != sign.UseManifest {
		return ""
	}
	for _, d := range s.withdrawn.content[line.Body] {
		if s.speaksFor(d, line.Key) || d.Release.Bundle == sub.ID && s.mayTakeBack(d.Signer, sub.ID) {
			return s.takenBackReason(d)
		}
	}
	return s.takenBackTogether(sub.ID, s.withdrawn.content[line.Body])
}

// takenBackTogether says so when as many keys as a publisher demands of those
// who revoke for it did so.
func (s *Store) takenBackTogether(id string, docs []*Document) string {
	for _, x := range s.publishers {
		if !x.names(id) || len(x.Revoke.Keys) == 0 {
			continue
		}
		var by []sign.Fingerprint
		var last *Document
		for _, d := range docs {
			if d.Release.Bundle == id && slices.Contains(x.Revoke.Fingerprints(), d.Signer) && !slices.Contains(by, d.Signer) {
				by, last = append(by, d.Signer), d
			}
		}
		if len(by) >= x.Revoke.Threshold {
			return s.takenBackReason(last)
		}
	}
	return ""
}

// speaksFor reports whether the signer of a document is that key, or succeeds it.
func (s *Store) speaksFor(d *Document, key sign.Fingerprint) bool {
	return d.Signer == key || s.succeeds(d.Signer, s.keys[key])
}

// mayTakeBack reports whether a key is an anchor that may revoke releases of a
// bundle that others signed.
func (s *Store) mayTakeBack(key sign.Fingerprint, id string) bool {
	e := s.keys[key]
	if !e.anchor("revoke") {
		return false
	}
	_, part := e.above.covers("bundle", id)
	return part == ""
}

func (s *Store) takenBackReason(d *Document) string {
	who := "key " + d.Signer.Short()
	if e := s.keys[d.Signer]; e != nil && e.label() != "" {
		who += " (" + e.label() + ")"
	}
	return fmt.Sprintf("this release was revoked by %s at %s: %s; %s", who, stamp(d.Signed), hidden.Visible(d.Release.Why), quoted(d.Path))
}

// RevokesReleases reports whether anything is said against any release.
func (s *Store) RevokesReleases() bool { return len(s.withdrawn.content) > 0 }

// ReleaseRevoked says why a locked release counts no more, "" when nothing is
// said against it: its manifest's digest and who signed it are all that a lock
// knows, so only what its signers say is asked.
func (s *Store) ReleaseRevoked(manifest item.Digest, signers []sign.Fingerprint) string {
	for _, d := range s.withdrawn.manifest[manifest] {
		if slices.ContainsFunc(signers, func(fp sign.Fingerprint) bool { return s.speaksFor(d, fp) }) {
			return s.takenBackReason(d)
		}
	}
	return ""
}

// ManifestRevoked is ReleaseRevoked for one whose manifest is at hand: anchors
// that may revoke are asked as well. Whether the signature holds is not.
func (s *Store) ManifestRevoked(sub sign.Subject, manifest []byte) string {
	if !s.RevokesReleases() {
		return ""
	}
	style, _ := sign.StyleByName("#")
	sp, err := sign.SplitFile(manifest, style)
	if err != nil || !sp.Signed {
		return ""
	}
	line := sp.Line
	line.Body = sp.Digest()
	return s.takenBack(sub, line)
}

// MayRevokeRelease reports whether a revocation by that key would count against
// a release of the bundle that these keys signed.
func (s *Store) MayRevokeRelease(key sign.Fingerprint, id string, signers []sign.Fingerprint) bool {
	d := &Document{Signer: key}
	for _, x := range s.publishers {
		if x.names(id) && slices.Contains(x.Revoke.Fingerprints(), key) {
			return true
		}
	}
	return s.mayTakeBack(key, id) || slices.ContainsFunc(signers, func(fp sign.Fingerprint) bool { return s.speaksFor(d, fp) })
}
