package trust

import (
	"bytes"
	"crypto/ed25519"
	"slices"
	"time"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

// Revoked is which revocations a project holds, as its own documents tell it.
// Whom this machine trusts does not matter, so every machine sees the same.
type Revoked struct {
	Documents []item.Digest // the revocations, in order
	Lists     []ListState   // the lists of revocations, by signer
}

// ListState says as of when a key listed the revocations that it knew.
type ListState struct {
	By sign.Fingerprint
	At time.Time
}

// ProjectRevoked returns the soundly signed revocations and lists of the project.
// What a key signs that no document of the project holds is left out: it cannot
// be checked everywhere.
func (s *Store) ProjectRevoked() Revoked { return s.revoked }

func (b *builder) projectRevoked() {
	out := &b.store.revoked
	keys := b.projectKeys()
	for _, d := range b.docs {
		if d.Tier != TierProject || !d.named || d.bad != nil || d.foreign() && !d.signedByOneOf(keys) {
			continue
		}
		switch d.Kind {
		case KindRevocation, KindReleaseRevocation:
			out.Documents = append(out.Documents, d.Digest)
		case KindRevocations:
			out.Lists = append(out.Lists, ListState{d.Signer, d.Signed.UTC()})
		}
	}
	slices.SortFunc(out.Documents, func(x, y item.Digest) int { return bytes.Compare(x[:], y[:]) })
	slices.SortFunc(out.Lists, func(x, y ListState) int { return bytes.Compare(x.By[:], y.By[:]) })
}

// projectKeys returns the keys that the project has sound documents of, those
// that the call names as anchors too.
func (b *builder) projectKeys() map[sign.Fingerprint]ed25519.PublicKey {
	out := map[sign.Fingerprint]ed25519.PublicKey{}
	for _, d := range b.docs {
		if d.Kind == KindKey && d.brought && d.named && d.bad == nil && d.Public != nil {
			out[d.Fingerprint] = d.Public
		}
	}
	return out
}

func (d *Document) signedByOneOf(keys map[sign.Fingerprint]ed25519.PublicKey) bool {
	pub, known := keys[d.Signer]
	return known && d.signedBy(pub) == nil
}
